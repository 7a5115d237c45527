"""MatchDG: phase 2 is RandMatch on learnt matches; its phase 1, as printed, has the paper's settings."""

import json
from pathlib import Path

import pytest

from matchdg.methods import METHODS, PHASE1_METHODS
from matchdg.methods.match_penalty import MatchPenalty
from matchdg.training import RunSettings

NAMES = ("matchdg", "matchdg-paper")
PAPER = Path(__file__).parents[2].parent / "shared" / "paper" / "hyperparameters.json"


@pytest.mark.parametrize("name", NAMES)
def test_phase_2_is_the_match_penalty_on_learnt_matches(name):
    spec, randmatch = METHODS[name], METHODS["randmatch"]
    assert (spec.matcher, spec.learns) == ("learnt", "classes")
    assert spec.settings is randmatch.settings
    assert spec.search == randmatch.search
    assert isinstance(spec.build(spec.settings(), None, 3), MatchPenalty)


def test_the_methods_that_have_a_phase_1_are_those_on_learnt_matches():
    learnt = (*NAMES, "mdghybrid")
    assert tuple(name for name, spec in METHODS.items() if spec.phase1 is not None) == learnt
    assert tuple(name for name, spec in METHODS.items() if spec.matcher == "learnt") == learnt


@pytest.mark.parametrize("name", NAMES)
def test_the_sections_of_phase_1_are_valid_and_used(name):
    run = RunSettings.parse({"dataset": "rotated-digits", "method": name})
    assert run.phase1.method in PHASE1_METHODS
    dumped = run.phase1.dump()
    for section, values in METHODS[name].phase1.items():
        assert {key: dumped[section][key] for key in values} == values


def test_phase_1_has_a_network_of_its_own_on_images_alone():
    on_images = RunSettings.parse({"dataset": "rotated-digits", "network": "lenet", "method": "matchdg"})
    assert on_images.phase1.dump()["network"] == METHODS["matchdg"].phase1_on_images["network"]
    given = {"network": {"name": "lenet"}}
    asked = RunSettings.parse(
        {"dataset": "rotated-digits", "network": "small-cnn", "method": "matchdg", "phase1": given}
    )
    assert asked.phase1.dump()["network"] == {"name": "lenet"}
    flat = RunSettings.parse({"dataset": "slab", "network": {"name": "slab", "width": 7}, "method": "matchdg"})
    assert flat.phase1.network == flat.network
    printed = RunSettings.parse({"dataset": "rotated-digits", "network": "lenet", "method": "matchdg-paper"})
    assert printed.phase1.network == printed.network


@pytest.mark.parametrize("name", NAMES)
def test_phase_1_is_without_ground_truth(name):
    run = RunSettings.parse({"dataset": "rotated-digits", "method": name}).phase1
    assert run.matcher.start != "perfect"
    assert run.training.selection == "source"


def test_as_printed_it_is_the_paper_s_table():
    if not PAPER.exists():
        pytest.skip("the paper's hyper-parameters as data lie beside the repository, and are not here")
    tables = {table["id"]: table for table in json.loads(PAPER.read_text())["tables"]}
    printed = {
        e["hyperparameter"]: e["optimal"] for e in tables["phase1"]["entries"] if e["setting"] == "rotated_mnist"
    }
    run = RunSettings.parse({"dataset": "rotated-mnist", "method": "matchdg-paper"}).phase1
    (batch,) = [e["value"] for e in printed["batch_size"] if "rotated_mnist_resnet18" in e["applies_to"]]
    assert run.method_settings.temperature == printed["tau"]
    assert run.method_settings.negatives == "other-classes"
    assert run.training.epochs == printed["total_epochs"]
    assert run.training.learning_rate == printed["learning_rate"]
    assert run.training.weight_decay == printed["weight_decay"]
    assert run.training.batch_rows == batch
    assert run.training.keep == "top10-overlap"
    assert (run.matcher.start, run.matcher.assignment, run.matcher.route) == ("random", "nearest", "direct")
