"""Match quality of a finished run's representation: any run's, whether it was trained for matching or not."""

import json
from pathlib import Path

import torch

from matchdg.core.files import digest, write_json
from matchdg.data import DomainSplit
from matchdg.matching import RepresentationSettings
from matchdg.matching.quality import augmentation_overlap, mutual_share, quality, table_overlap
from matchdg.networks import Network
from matchdg.training.criteria import augmented, on_device
from matchdg.training.embed import embed
from matchdg.training.records import read_records
from matchdg.training.run import RunSettings, build_split, load_matches, load_network, run_folder

Quality = dict[str, float]
MEMORY = 256 * 2**20


def read_quality(out: Path, settings: RunSettings, measured: RepresentationSettings) -> Quality | None:
    """What `measure_quality` found before, or None."""
    try:
        found: Quality = json.loads(_path(out, settings, measured).read_text())
    except (OSError, ValueError):
        return None
    return found


def measure_quality(
    out: Path, settings: RunSettings, measured: RepresentationSettings, device: torch.device | None = None
) -> Quality:
    """What is known of a finished run's representation as one to match in; kept in its folder.

    Without ground truth: the share of mutual nearest neighbours over domains; how well validation inputs find their
    own augmentations; and, of a run that renewed its matches, how many of them its last update left as they were.
    Where the data set's objects are known: overlap, top-10 overlap and mean rank, and in `table_overlap` the share of
    true pairs in the match table that the run ended with.
    """
    found = read_quality(out, settings, measured)
    if found is not None:
        return found
    split = build_split(settings)
    device = device or torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network = load_network(out, settings, split).to(device)
    found = {**quality_of(network, split, measured), **augmentation_of(network, split, measured, settings.seed)}
    if split.train.objects is not None:
        found["table_overlap"] = table_overlap(load_matches(out, settings).rows, split.train)
    updates = [record["matches"] for record in read_records(run_folder(out, settings) / "records.jsonl")]
    if any(updates):
        found["stability"] = [update for update in updates if update][-1]["stability"]
    write_json(_path(out, settings, measured), found)
    return found


def quality_of(network: Network, split: DomainSplit, measured: RepresentationSettings) -> Quality:
    """What can be told of the training data of the source domains, of a network at hand."""
    device = next(network.parameters()).device
    features = embed(network, on_device(split.train, device), measured.layer, measured.statistics)
    prepared = measured.prepare(features, split.train)
    known = {} if split.train.objects is None else quality(prepared, split.train, MEMORY)
    return {**known, "mutual": mutual_share(prepared, split.train)}


def augmentation_of(network: Network, split: DomainSplit, measured: RepresentationSettings, seed: int) -> Quality:
    """How well validation inputs find their own augmentations, as phase 1 is stopped by (appendix C.3)."""
    device, validation = next(network.parameters()).device, split.validation
    first, second = (
        measured.prepare(embed(network, on_device(part, device), measured.layer, measured.statistics), validation)
        for part in (validation, augmented(split, seed))
    )
    found = augmentation_overlap(first, second, validation.labels, validation.domains, MEMORY)
    return {f"augmentation_{name}": value for name, value in found.items()}


def _path(out: Path, settings: RunSettings, measured: RepresentationSettings) -> Path:
    plain = {key: getattr(measured, key) for key in RepresentationSettings.model_fields}
    return run_folder(out, settings) / f"quality-{digest(plain)[:8]}.json"
