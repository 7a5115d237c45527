from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from matchdg.data.pacs import DOMAINS
from matchdg.experiments.catalogue import find_study
from matchdg.experiments.paper.hyperparameters import entries, of_setting
from matchdg.experiments.reproduce import reproduce
from matchdg.experiments.study import override
from matchdg.experiments.tables.pacs import PHASE1_NETWORK, ROWS, SETUPS, pacs_alexnet, pacs_full, pacs_resnet18

TABLES = ("pacs_resnet18", "pacs_resnet50", "pacs_alexnet", "pacs_full")
every_table = pytest.mark.parametrize("name", TABLES)


def arm_of(study, label, column, group="source validation"):
    return next(arm for arm in study.arms if (arm.label, arm.task) == (label, f"{group}, {column}"))


def test_the_paper_budget_has_the_printed_settings_and_grids():
    printed = of_setting("pacs")
    for arm in pacs_resnet18("paper", "source").arms:
        run = arm.run(arm.points()[0], 0)
        assert run.dump()["network"]["name"] == "resnet18"
        assert run.network.weights == "imagenet"
        assert run.dataset.size == 224
        assert [run.training.epochs] == printed["total_epochs"]["range"]
        assert [run.training.batch_rows] == printed["batch_size"]["range"]
        assert [run.training.weight_decay] == printed["weight_decay"]["range"]
        assert list(arm.grid["training.learning_rate"]) == printed["learning_rate"]["range"]
        for key in ("method.penalty", "method.view_penalty"):
            if key in arm.grid:
                assert list(arm.grid[key]) == printed["match_penalty"]["range"]
        assert {"ERM": 1, "MDGHybrid": 3}.get(arm.label, 2) == len(arm.grid)


def test_phase_1_is_of_resnet50_and_the_printed_one_as_printed():
    printed = {one["hyperparameter"]: one["optimal"] for one in entries("phase1") if one["setting"] == "pacs"}
    study = pacs_alexnet("paper", "source")
    for label in ("MatchDG", "MatchDG (as printed)", "MDGHybrid"):
        phase1 = arm_of(study, label, "Photo").run({}, 0).phase1
        assert phase1.dump()["network"]["name"] == PHASE1_NETWORK
        assert phase1.network.weights == "imagenet"
    phase1 = arm_of(study, "MatchDG (as printed)", "Photo").run({}, 0).phase1
    assert phase1.training.epochs == printed["total_epochs"]
    assert phase1.training.learning_rate == printed["learning_rate"]
    assert phase1.training.batch_rows == printed["batch_size"]
    assert phase1.training.weight_decay == printed["weight_decay"]
    assert phase1.method_settings.temperature == printed["tau"]


@every_table
def test_as_printed_each_row_has_the_values_of_its_target_and_nothing_is_searched(name):
    study = find_study(name, "paper", hparams="paper")
    assert study.search_runs() == []
    assert study.search_seeds == ()
    assert study.hash != find_study(name, "paper").hash
    assert study.about_search == "hyper-parameters as printed for each row and target, nothing searched"
    architecture = {"pacs_resnet50": "ResNet-50", "pacs_alexnet": "AlexNet"}.get(name, "ResNet-18")
    for entry in entries("pacs_per_test_domain"):
        if entry["architecture"] != architecture:
            continue
        arms = [arm for arm in study.arms if entry["test_domain"] in arm.columns]
        arms = [arm for arm in arms if name != "pacs_full" or "ResNet-18" in arm.group]
        assert len(arms) == (5 if name == "pacs_resnet50" else 9)
        for arm in arms:
            run = arm.run(arm.points()[0], 0)
            optimal = entry["optimal"]["MatchDG" if arm.label == "MatchDG (as printed)" else arm.label]
            if entry["hyperparameter"] == "learning_rate":
                assert run.training.learning_rate == optimal
            elif arm.label == "MDGHybrid":
                settings = run.method_settings
                assert optimal == {"matchdg": settings.penalty, "perfmatch": settings.view_penalty}
            elif arm.label != "ERM":
                assert run.method_settings.penalty == optimal


def test_chosen_on_the_target_alone_no_row_claims_source_validation():
    study = pacs_full("cpu", "target")
    assert {arm.group for arm in study.arms} == {"ResNet-18, test validation", "ResNet-50, test validation"}
    assert {study.rule_of(arm) for arm in study.arms} == {"target"}


def test_tables_share_their_runs():
    def runs(name):
        study = find_study(name, "cpu")
        return {run.hash for run in study.search_runs()}

    assert runs("pacs_full") == runs("pacs_resnet18") | runs("pacs_resnet50")


def test_a_study_is_named_by_the_images_where_they_are(data):
    study = pacs_resnet18("quick", "source")
    found = {arm.run(arm.points()[0], 0).dataset.fingerprint for arm in study.arms}
    assert len(found) == 1
    assert None not in found
    for arm in study.arms:
        assert arm.base["dataset"]["fingerprint"] in found


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A PACS of two classes with ten images of 12x10 pixels each a domain."""
    random = np.random.default_rng(0)
    for name in DOMAINS:
        for kind in ("dog", "horse"):
            folder = tmp_path / "data" / "PACS" / name / kind
            folder.mkdir(parents=True)
            for index in range(10):
                Image.fromarray(random.integers(0, 256, (10, 12, 3), np.uint8)).save(folder / f"{index}.png")
    monkeypatch.setenv("MATCHDG_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("MATCHDG_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("budget", ["quick", "cpu"])
def test_both_rules_stand_beside_the_printed_and_the_quoted_rows(data, monkeypatch, quiet, tmp_path, budget):
    """On one target and few images, with a small network and random weights, and two rates to choose from."""
    setup = SETUPS[budget]
    grid = {**{key: values[:1] for key, values in setup.grid.items()}, "learning_rate": (0.01, 0.001)}
    epochs = {"matchdg": 1, "matchdg-paper": 1}
    monkeypatch.setitem(SETUPS, budget, replace(setup, size=32, epochs=1, phase1_epochs=epochs, grid=grid))
    whole = pacs_resnet18(budget, "source")
    network = {"name": "small-cnn"} if budget == "cpu" else {"name": "frozen", "backbone": "small-cnn", "views": 2}
    arms = []
    for arm in whole.arms:
        if "Photo" in arm.task and arm.label in ("ERM", "RandMatch", "MDGHybrid"):
            phase1 = {"phase1.network": network} if "phase1" in arm.base else {}
            arms.append(replace(arm, base=override(arm.base, {"network": network, **phase1})))
    study = replace(whole, arms=tuple(arms), averages={})
    table = reproduce(study, tmp_path / "out", 1, quiet, "c").table
    assert table["failed"] == []
    ours = {(row["method"], row["group"]): row for row in table["rows"] if row.get("origin") is None}
    assert len(ours) == 5
    for (label, group), row in ours.items():
        assert row["selection"] == ("target: accuracy" if group == "test validation" else "source: accuracy")
        assert row["paper"]["Photo"]["mean"] > 90
        assert set(row["values"]) == {"Photo"}
        assert row["hyperparameters"]["training.learning_rate"] in (0.01, 0.001)
        assert label in ROWS
    quoted = [row for row in table["rows"] if row.get("origin") == "quoted"]
    assert ("RSC", "source validation") in {(row["method"], row["group"]) for row in quoted}
    assert any("too good" in note for note in table["notes"])
