"""Match quality of finished runs: of the kept weights' representation, kept in the run's folder."""

import json

import pytest
import torch

from matchdg.matching import RepresentationSettings
from matchdg.matching.quality import quality
from matchdg.training import RunSettings, execute, read_result, run_folder
from matchdg.training import quality as measuring
from matchdg.training.embed import embed
from matchdg.training.quality import measure_quality, quality_of, read_quality
from matchdg.training.records import read_records
from matchdg.training.run import load_network

PLAIN, LOGITS = RepresentationSettings(), RepresentationSettings(layer="logits", statistics="domain", metric="cosine")
NAMES = {"overlap", "top10_overlap", "mean_rank", "mutual", "table_overlap"}
WITHOUT_TRUTH = {"mutual", "augmentation_overlap", "augmentation_top10_overlap", "augmentation_mean_rank"}


def parse(method="matchdg", **sections):
    data = {"sources": [15, 30, 45], "targets": [90], "size": 8, "train_per_domain": 60, "test_per_domain": 40}
    values = {
        "dataset": {"name": "rotated-digits", **data},
        "method": method,
        "training": {"epochs": 2, "batch_rows": 20},
        **({"phase1": {"training": {"epochs": 2}, "matcher": {"every": 1}}} if method == "matchdg" else {}),
    }
    return RunSettings.parse({**values, **sections})


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """ERM, PerfMatch, MatchDG and its phase 1, trained."""
    out = tmp_path_factory.mktemp("quality")
    runs = {name: parse(name) for name in ("erm", "perfmatch", "matchdg")}
    for run in runs.values():
        execute(run, out)
    return out, {**runs, "phase 1": runs["matchdg"].phase1}


@pytest.mark.parametrize("measured", [PLAIN, LOGITS])
@pytest.mark.parametrize("name", ["erm", "phase 1", "matchdg"])
def test_any_run_s_representation_is_measured(finished, name, measured):
    out, runs = finished
    found = measure_quality(out, runs[name], measured)
    split = runs[name].dataset.build(0)
    features = embed(load_network(out, runs[name], split), split.train, measured.layer, measured.statistics)
    expected = quality(measured.prepare(features, split.train), split.train)
    assert set(found) == NAMES | WITHOUT_TRUTH | ({"stability"} if name == "phase 1" else set())
    assert {key: found[key] for key in expected} == pytest.approx(expected)


def test_table_overlap_is_of_the_matches_that_the_run_ended_with(finished):
    out, runs = finished
    overlaps = {name: measure_quality(out, run, PLAIN)["table_overlap"] for name, run in runs.items()}
    assert overlaps["perfmatch"] == 100
    assert overlaps["erm"] < 60
    assert overlaps["phase 1"] == overlaps["matchdg"] > overlaps["erm"]


def test_what_was_measured_is_read_and_not_measured_again(finished, monkeypatch):
    out, runs = finished
    found = measure_quality(out, runs["erm"], PLAIN)

    def never(*args):
        raise AssertionError

    monkeypatch.setattr(measuring, "load_network", never)
    assert measure_quality(out, runs["erm"], PLAIN) == read_quality(out, runs["erm"], PLAIN) == found


def test_each_representation_has_a_file_of_its_own(finished):
    out, runs = finished
    folder = run_folder(out, runs["perfmatch"])
    before = set(folder.glob("quality-*.json"))
    for how in ("centre", "whiten"):
        measure_quality(out, runs["perfmatch"], RepresentationSettings(normalise=how))
    assert len(set(folder.glob("quality-*.json")) - before) == 2


@pytest.mark.parametrize(("content", "layer"), [(None, "logits"), ("", "representation"), ("{", "logits")])
def test_a_file_that_is_absent_or_cut_off_counts_as_none(finished, content, layer):
    out, runs = finished
    folder, measured = run_folder(out, runs["erm"]), RepresentationSettings(layer=layer, statistics="cell")
    for path in folder.glob("quality-*.json"):
        path.unlink()
    before = measure_quality(out, runs["erm"], measured)
    (path,) = folder.glob("quality-*.json")
    path.unlink()
    if content is not None:
        path.write_text(content)
    assert read_quality(out, runs["erm"], measured) is None
    assert measure_quality(out, runs["erm"], measured) == before
    assert json.loads(path.read_text()) == before


def test_without_known_objects_what_needs_none_is_measured(tmp_path, npz):
    import numpy as np

    path = npz(objects=np.arange(90))
    arrays = dict(np.load(path))
    del arrays["objects"]
    np.savez(path, **arrays)
    dataset = {"name": "arrays", "path": str(path), "targets": ["c"]}
    run = parse("erm", dataset=dataset, network="slab")
    execute(run, tmp_path)
    assert set(measure_quality(tmp_path, run, PLAIN)) == WITHOUT_TRUTH


def test_stability_is_that_of_the_last_update(finished):
    out, runs = finished
    records = read_records(run_folder(out, runs["phase 1"]) / "records.jsonl")
    updates = [record["matches"]["stability"] for record in records if record["matches"]]
    assert measure_quality(out, runs["phase 1"], PLAIN)["stability"] == updates[-1]


def test_augmentations_are_those_that_phase_1_is_stopped_by(finished):
    out, runs = finished
    run = runs["phase 1"]
    measured = RepresentationSettings(**{key: getattr(run.matcher, key) for key in RepresentationSettings.model_fields})
    found = measure_quality(out, run, measured)
    kept = read_result(out, run).validation["augmentation"]
    assert {name: found[f"augmentation_{name}"] for name in kept} == pytest.approx(kept)


def test_a_network_at_hand_is_measured_in_place(finished):
    out, runs = finished
    split = runs["erm"].dataset.build(0)
    network = load_network(out, runs["erm"], split).train()
    before = {key: value.clone() for key, value in network.state_dict().items()}
    found = quality_of(network, split, LOGITS)
    assert found == {key: value for key, value in measure_quality(out, runs["erm"], LOGITS).items() if key in found}
    assert set(found) == NAMES - {"table_overlap"}
    assert network.training
    assert all(torch.equal(value, network.state_dict()[key]) for key, value in before.items())
