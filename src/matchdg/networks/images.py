"""What every network on images asks of its inputs."""

from matchdg.core.errors import InputError


def check_images(network: str, input_shape: tuple[int, ...], smallest: int = 1) -> None:
    """Raise `InputError` unless inputs are [channels, height, width], both sides at least `smallest` pixels."""
    if len(input_shape) != 3:
        raise InputError(
            f"{network} needs images of shape (channels, height, width), got inputs of shape {input_shape}; "
            "use the network 'slab' for flat inputs"
        )
    if input_shape[0] < 1 or min(input_shape[1:]) < smallest:
        raise InputError(
            f"{network} needs images of at least 1 channel and {smallest}x{smallest} pixels, got inputs of shape "
            f"{input_shape}; use larger images, or the network 'slab', which takes any size"
        )
