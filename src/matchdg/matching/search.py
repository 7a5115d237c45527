"""Exact nearest neighbours by matrix products in blocks, within a bound of memory."""

from collections.abc import Callable, Iterator
from typing import Final

import torch
from torch import Tensor

from matchdg.core.errors import DivergedError, InputError

MEMORY: Final = 256 * 2**20
"""Bytes that a search may take beyond its inputs and its result, unless told otherwise."""

_GRAIN: Final = 32
_SAMPLE: Final = 64
# On a CPU blocks that stay in its caches; elsewhere blocks that keep it busy.
_LARGEST: Final = {"cpu": (512, 2048)}
_LARGEST_ELSEWHERE: Final = (8192, 8192)


@torch.no_grad()
def nearest(queries: Tensor, candidates: Tensor, k: int = 1, memory: int = MEMORY) -> tuple[Tensor, Tensor]:
    r"""The k nearest candidates of each query, nearest first: positions (int64) and l2 distances, [Q, min(k, N)].

    Shapes: queries [Q, D], candidates [N, D]. Of equally near candidates the one of lower position comes first.
    With k above N, all N are given. Computed in float32 on the device of the inputs; takes at most `memory` bytes
    beyond them and the result. Raises `InputError` if shapes do not agree, a feature is not finite, or `memory` is
    too small for the smallest block.

    >>> nearest(torch.tensor([[0.0], [5.0]]), torch.tensor([[4.0], [1.0], [1.0]]), k=2)[0].tolist()
    [[1, 2], [0, 1]]
    """
    check_pair(queries, candidates)
    if k < 1:
        raise InputError(f"the number of neighbours must be at least 1, got {k}")
    k = min(k, len(candidates))
    if k == 0 or len(queries) == 0:
        return queries.new_zeros((len(queries), k), dtype=torch.int64), queries.new_zeros((len(queries), k)).float()
    found = first(queries, candidates, memory)[:, None] if k == 1 else first_k(queries, candidates, k, memory)
    return found, _distances(queries, candidates, found, memory)


def first(queries: Tensor, candidates: Tensor, memory: int) -> Tensor:
    """Positions [Q] of the nearest candidates, of which there must be one."""
    best = torch.full((len(queries),), torch.inf, device=queries.device)
    found = torch.zeros(len(queries), dtype=torch.int64, device=queries.device)
    for rows, start, block in scores(queries, candidates, memory):
        value, column = _least(block)
        nearer = value < best[rows]
        best[rows] = torch.where(nearer, value, best[rows])
        found[rows] = torch.where(nearer, column + start, found[rows])
    return found


def _least(block: Tensor) -> tuple[Tensor, Tensor]:
    """The least score of each row and its first column: of groups of columns first, as positions are slow to keep."""
    if block.device.type != "cpu":
        return block.min(1)
    groups = block.view(len(block), _GRAIN, -1)
    value, group = groups.amin(2).min(1)
    place = groups[torch.arange(len(block)), group].argmin(1)
    return value, group * groups.shape[2] + place


def first_k(queries: Tensor, candidates: Tensor, k: int, memory: int, prices: Tensor | None = None) -> Tensor:
    r"""Positions [Q, k] of the candidates of least $\|q - c\|^2 / 2 + p_c$, for k <= N; without prices, the nearest."""
    best = torch.full((len(queries), k), torch.iinfo(torch.int64).max, device=queries.device)
    for rows, first, block in scores(queries, candidates, memory, 24, prices):
        keys = _keys(block, first)
        found = keys.topk(min(k, keys.shape[1]), largest=False).values
        best[rows] = torch.cat([best[rows], found], 1).topk(k, largest=False).values
    return best.sort(1).values & 0xFFFFFFFF


def scores(
    queries: Tensor, candidates: Tensor, memory: int, bytes_each: int = 4, prices: Tensor | None = None
) -> Iterator[tuple[slice, int, Tensor]]:
    r"""Blocks of $\|c\|^2 / 2 - q \cdot c + p_c$, which without prices p orders candidates as the distance does.

    Yields the slice of the queries, the position of the first candidate, and the scores [rows, columns]. `bytes_each`
    is what the caller and a block together hold for each score.

    Both sides are shifted to near the candidates' mean, as the products of features far from zero lose digits.
    All blocks of a query have equally many columns, filled up with infinite scores: so the products of equal
    candidates are computed in the same way, and their scores are equal, wherever they stand.
    """
    rows, columns = _block_size(queries, candidates, memory, bytes_each)
    shift = _shift(candidates)
    side = torch.empty(columns, candidates.shape[1], device=candidates.device)
    squares = torch.empty_like(side)
    constant = torch.empty(columns, device=candidates.device)
    part = torch.empty(rows, candidates.shape[1], device=candidates.device)
    for first in range(0, len(candidates), columns):
        inside = slice(first, min(first + columns, len(candidates)))
        count = inside.stop - first
        torch.sub(shift, candidates[inside], out=side[:count])
        side[count:] = 0
        torch.sum(torch.mul(side, side, out=squares), 1, out=constant).div_(2)
        constant[count:] = torch.inf
        if prices is not None:
            constant[:count] += prices[inside]
        product = _linear(side, constant)
        for start in range(0, len(queries), rows):
            strip = slice(start, min(start + rows, len(queries)))
            yield strip, first, product(torch.sub(queries[strip], shift, out=part[: strip.stop - start]))


def all_scores(queries: Tensor, candidates: Tensor, memory: int) -> Tensor:
    """All scores [Q, N] at once, for callers that see to it that they fit; `memory` is for the blocks."""
    held = torch.empty(len(queries), len(candidates), device=queries.device)
    for rows, first, block in scores(queries, candidates, memory):
        count = min(block.shape[1], len(candidates) - first)
        held[rows, first : first + count] = block[:, :count]
    return held


def check_features(name: str, features: Tensor) -> None:
    """Raise `InputError` unless `features` [N, D] are floats, all finite and with squares that do not overflow."""
    if features.dim() != 2 or features.shape[1] == 0 or not features.is_floating_point():
        kind = str(features.dtype).removeprefix("torch.")
        raise InputError(
            f"{name} have shape {tuple(features.shape)} and type {kind}, expected floats [points, features]"
        )
    precision = torch.float64 if features.dtype == torch.float64 else torch.float32
    sound = torch.linalg.vector_norm(features, dim=1, dtype=precision).float().square().isfinite()
    if not bool(sound.all()):
        wrong = (~sound).nonzero().flatten().tolist()
        shown = ", ".join(str(row) for row in wrong[:5]) + (", …" if len(wrong) > 5 else "")
        raise DivergedError(
            f"{name} have NaN, infinite or far too large values in {len(wrong)} row(s): {shown}; "
            "if the network that computed them diverged, lower its learning rate"
        )


def check_pair(queries: Tensor, candidates: Tensor) -> None:
    """Raise `InputError` unless both are sound and have equally many features."""
    check_features("queries", queries)
    check_features("candidates", candidates)
    if queries.shape[1] != candidates.shape[1]:
        raise InputError(
            f"queries have {queries.shape[1]} features and candidates {candidates.shape[1]}, expected equally many"
        )


def _linear(weight: Tensor, bias: Tensor) -> Callable[[Tensor], Tensor]:
    """`inputs @ weight.T + bias`. On a CPU by oneDNN, which on some makes is twice as fast as what PyTorch takes.

    It is asked directly: `to_mkldnn`, `linear` and `to_dense` give the same numbers by way of a copy of each block,
    and fresh memory for these takes as long as the product.
    """
    direct = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    if weight.device.type != "cpu" or not torch.backends.mkldnn.is_available() or direct is None:
        return lambda inputs: torch.addmm(bias, inputs, weight.T)
    return lambda inputs: direct(inputs, weight, bias, "none", [], "")


def _block_size(queries: Tensor, candidates: Tensor, memory: int, bytes_each: int) -> tuple[int, int]:
    """Rows and columns of a block: the largest ones, their longer side halved until they fit."""
    features = candidates.shape[1]

    def needed() -> int:
        # Both sides, shifted, squared and packed, and what is held for each point; the scores, packed and not.
        return 12 * (rows + columns) * (features + 4) + (4 + bytes_each) * rows * columns

    rows, columns = _LARGEST.get(queries.device.type, _LARGEST_ELSEWHERE)
    rows, columns = min(rows, _grains(len(queries))), min(columns, _grains(len(candidates)))
    while needed() > memory and max(rows, columns) > _GRAIN:
        if columns >= rows:
            columns = _grains(columns // 2)
        else:
            rows = _grains(rows // 2)
    if needed() > memory:
        raise InputError(
            f"a memory of {memory} bytes is too small for one block of a search among {features} features; "
            f"give at least {needed()} bytes (matcher.memory_mb: {-(-needed() // 2**20)})"
        )
    return rows, columns


def _grains(count: int) -> int:
    return -(-count // _GRAIN) * _GRAIN


def _shift(candidates: Tensor) -> Tensor:
    """About the mean, in steps of a power of two, so that subtracting it is exact where features are whole numbers."""
    sample = candidates[:: -(-len(candidates) // _SAMPLE)]
    variance, mean = torch.var_mean(sample, 0, correction=0)
    least = torch.maximum(variance.float().amax().sqrt(), 1e-6 * mean.float().abs().amax()).clamp(min=1e-30)
    step = torch.exp2(least.log2().floor() - 1)
    return (mean.float() / step).round() * step


def _keys(block: Tensor, first: int) -> Tensor:
    """Score and position in one integer, the position in its lower half: ordered by score, then by position."""
    bits = block.add_(0.0).view(torch.int32)  # -0.0 becomes 0.0, which would else come after it
    ordered = (bits >> 31).bitwise_and_(0x7FFFFFFF).bitwise_xor_(bits)
    positions = torch.arange(first, first + block.shape[1], device=block.device)
    return ordered.long().bitwise_left_shift_(32).bitwise_or_(positions)


def _distances(queries: Tensor, candidates: Tensor, found: Tensor, memory: int) -> Tensor:
    """From the differences, not the products, so that equal points are at distance 0."""
    rows = max(1, memory // (16 * candidates.shape[1] * found.shape[1]))
    parts = [
        torch.linalg.vector_norm(candidates[own].float() - part.float()[:, None], dim=2)
        for part, own in zip(queries.split(rows), found.split(rows), strict=True)
    ]
    return torch.cat(parts)
