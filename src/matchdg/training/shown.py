"""What of the training data an epoch shows: the inputs themselves, or views of them drawn anew, and views to pair."""

from dataclasses import replace

from matchdg.data import DomainDataset, DomainSplit, Inputs
from matchdg.data.augmentation import AugmentedInputs
from matchdg.training.seeds import stream


def shown(
    split: DomainSplit, data: DomainDataset, seed: int, epoch: int, paired: bool
) -> tuple[DomainDataset, Inputs | None]:
    """The training data `data` of `split` as `epoch` shows them and, if `paired`, another view of each input.

    Where the data are augmented in training, both are draws of that; where they are not, the first is the input and
    the second a draw of the data's self-augmentation. All draws follow from `seed`, `epoch` and the input alone.
    """
    if split.views is not None:
        pairs = split.views.shown(data.inputs, seed, epoch, 1) if paired else None
        return replace(data, inputs=split.views.shown(data.inputs, seed, epoch, 0)), pairs
    if not paired:
        return data, None
    return data, AugmentedInputs(data.inputs, stream(seed, "paired views", epoch), split.augmentation)
