"""Which X-rays of a collection are used: as many of each class, and no patient twice."""

from collections.abc import Sequence

import numpy as np

from matchdg.core.errors import InputError
from matchdg.data.xray.listing import CLASSES, PNEUMONIA, WITHOUT, Listing


def choose_balanced(
    listing: Listing, wanted: Sequence[int], seed: int, *, strict: bool = False
) -> tuple[list[np.ndarray], str | None]:
    """Positions of the X-rays of each part, half of either class, and a notice where there were too few.

    `wanted` are the sizes of the parts, even numbers. Of each patient one X-ray is used, with pneumonia if there is
    one, else drawn, so that no patient is in two parts. Which ones and where is drawn with `seed`.

    Where a class has fewer than are wanted, both classes of every part shrink by the same factor; with `strict`, and
    where a part would be left empty, that is an `InputError`.
    """
    # Only uniform doubles are drawn, so that every machine and every version of NumPy agrees.
    draws = np.random.Generator(np.random.PCG64(seed)).random(len(listing.labels))
    pools = _pools(listing, draws)
    found = [len(pool) for pool in pools]
    sizes, notice = _sizes(listing, [size // 2 for size in wanted], found, strict)
    ends = np.cumsum(sizes)
    parts = [
        # In the order of the table, which is that of the files on disk.
        np.sort(np.concatenate([pool[end - size : end] for pool in pools]))
        for size, end in zip(sizes, ends.tolist(), strict=True)
    ]
    return parts, notice


def _pools(listing: Listing, draws: np.ndarray) -> list[np.ndarray]:
    """Of either class the positions that may be used, one a patient, in random order."""
    _, patients = np.unique(listing.patients, return_inverse=True)
    order = np.lexsort((draws, -listing.labels, patients))
    first = np.unique(patients[order], return_index=True)[1]
    chosen = order[first]
    chosen = chosen[np.argsort(draws[chosen], kind="stable")]
    return [chosen[listing.labels[chosen] == label] for label in (WITHOUT, PNEUMONIA)]


def _sizes(listing: Listing, wanted: list[int], found: list[int], strict: bool) -> tuple[list[int], str | None]:
    """How many of either class each part gets, and what to say of it."""
    there, needed = min(found), sum(wanted)
    if there >= needed:
        return wanted, None
    counts = ", ".join(f"{number} with {name}" for number, name in zip(found, CLASSES, strict=True))
    missing = f"; {listing.absent} more are listed but have no file" if listing.absent else ""
    said = (
        f"{listing.collection.name} in {listing.folder} has X-rays of {counts}, one a patient, where "
        f"{needed} of each are wanted{missing}"
    )
    if strict:
        raise InputError(f"{said}; get more, ask for fewer, or use those without --strict (dataset.strict=false)")
    if there < len(wanted):
        raise InputError(f"{said}; at least {len(wanted)} of each are needed, so get more")
    sizes = [max(1, size * there // needed) for size in wanted]
    return sizes, f"{said}; used are {' + '.join(map(str, sizes))} of each"
