"""Match quality of a finished run's representation: any run's, whether it was trained for matching or not."""

import json
from pathlib import Path

import torch

from matchdg.core.files import digest, write_json
from matchdg.data import DomainSplit
from matchdg.matching import RepresentationSettings
from matchdg.matching.quality import mutual_share, quality, table_overlap
from matchdg.networks import Network
from matchdg.training.criteria import on_device
from matchdg.training.embed import embed
from matchdg.training.run import RunSettings, load_matches, load_network, run_folder

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
    """Overlap, top-10 overlap, mean rank, share of mutual neighbours of a finished run; kept in its folder.

    `table_overlap` is the share of true pairs in the match table that the run ended with. Raises `InputError`
    where the data set's objects are not known.
    """
    found = read_quality(out, settings, measured)
    if found is not None:
        return found
    split = settings.dataset.build(settings.seed)
    device = device or torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network = load_network(out, settings, split).to(device)
    found = quality_of(network, split, measured)
    found["table_overlap"] = table_overlap(load_matches(out, settings).rows, split.train)
    write_json(_path(out, settings, measured), found)
    return found


def quality_of(network: Network, split: DomainSplit, measured: RepresentationSettings) -> Quality:
    """The same of a network at hand, without its table; on the training data of the source domains."""
    device = next(network.parameters()).device
    features = embed(network, on_device(split.train, device), measured.layer, measured.statistics)
    prepared = measured.prepare(features, split.train)
    return {
        **quality(prepared, split.train, MEMORY),
        "mutual": mutual_share(prepared, split.train),
    }


def _path(out: Path, settings: RunSettings, measured: RepresentationSettings) -> Path:
    plain = {key: getattr(measured, key) for key in RepresentationSettings.model_fields}
    return run_folder(out, settings) / f"quality-{digest(plain)[:8]}.json"
