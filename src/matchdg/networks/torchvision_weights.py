"""ImageNet weights of torchvision's networks: from its cache, or downloaded."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from matchdg.core.errors import InputError
from matchdg.networks.pretrained import Published


def torchvision_weights(network: str, file: str, classifier: str, rename: Callable[[str], str] = str) -> Published:
    """The published weights called `file`, which has the start of its SHA-256 in its name."""
    digest = file.removesuffix(".pth").rpartition("-")[2]
    return Published(partial(_fetch, network, file, digest), classifier, digest, rename)


def _fetch(network: str, file: str, digest: str) -> Path:
    """The file in torch's own cache, so that no other program downloads it again."""
    from torch import hub

    path = Path(hub.get_dir()) / "checkpoints" / file
    if path.exists():
        return path
    url = f"https://download.pytorch.org/models/{file}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        hub.download_url_to_file(url, str(path), hash_prefix=digest, progress=False)
    except (OSError, RuntimeError) as error:
        raise InputError(
            f"the ImageNet weights of {network} could not be downloaded from {url} ({error}). Fetch that file where "
            f"there is network and name it as network.weights, or put it into {path.parent}"
        ) from None
    return path
