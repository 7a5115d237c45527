import pytest

from matchdg.experiments import printed_table
from matchdg.experiments.catalogue import find_study
from matchdg.experiments.paper.hyperparameters import entries, of_setting
from matchdg.experiments.tables.chest_xray import SETUPS, chest_xray, printed_point


def run_of(study, label, column="RSNA"):
    arm = next(arm for arm in study.arms if (arm.label, arm.task) == (label, column))
    return arm, arm.run(arm.points()[0], 0)


def test_each_collection_is_the_target_in_the_column_of_its_printed_name():
    study = chest_xray("paper", "source")
    for arm in study.arms:
        (column,) = arm.columns
        assert column in printed_table("chest_xray")["columns"]
        (target,) = arm.run(arm.points()[0], 0).dataset.targets
        assert target.casefold() == column.casefold()


def test_the_paper_budget_has_the_printed_settings_and_grids():
    printed = of_setting("chest_xray")
    study = chest_xray("paper", "source")
    for arm in study.arms:
        run = arm.run(arm.points()[0], 0)
        data, training = run.dataset, run.training
        assert run.dump()["network"]["name"] == "densenet121"
        assert (run.network.weights, data.size) == ("imagenet", 224)
        assert (data.train_per_domain, data.validation_per_domain, data.test_per_domain) == (800, 200, 400)
        assert [training.epochs] == printed["total_epochs"]["range"]
        assert [training.batch_rows] == printed["batch_size"]["range"]
        assert [training.weight_decay] == printed["weight_decay"]["range"]
        assert list(arm.grid["training.learning_rate"]) == printed["learning_rate"]["range"]
        penalty = {"IRM": "irm_penalty", "ERM": None, "CSD": None}.get(arm.label, "match_penalty")
        if penalty:
            assert list(arm.grid["method.penalty"]) == printed[penalty]["range"]
    arm, _ = run_of(study, "IRM")
    assert list(arm.grid["method.start_epoch"]) == printed["irm_threshold"]["range"]


def test_the_printed_phase_1_is_as_printed():
    printed = {one["hyperparameter"]: one["optimal"] for one in entries("phase1") if one["setting"] == "chest_xray"}
    _, run = run_of(chest_xray("paper", "source"), "MatchDG (as printed)")
    assert run.phase1.dump()["network"]["name"] == "densenet121"
    training = run.phase1.training
    assert (training.epochs, training.batch_rows) == (printed["total_epochs"], printed["batch_size"])
    assert (training.learning_rate, training.weight_decay) == (printed["learning_rate"], printed["weight_decay"])
    assert run.phase1.method_settings.temperature == printed["tau"]


@pytest.mark.parametrize("budget", SETUPS)
def test_as_printed_nothing_is_searched(budget):
    study = find_study("chest_xray", budget, hparams="paper")
    assert study.search_runs() == []
    penalties = {
        label: getattr(run_of(study, label)[1].method_settings, "penalty", None)
        for label in ("IRM", "RandMatch", "MatchDG", "MatchDG (as printed)", "MDGHybrid")
    }
    assert list(penalties.values()) == [10, 10, 50, 50, 50]
    assert {arm.run(arm.points()[0], 0).training.learning_rate for arm in study.arms} == {0.001}
    _, csd = run_of(study, "CSD")
    assert (csd.method_settings.specific_weight, csd.method_settings.orthogonality) == (1.0, 1.0)
    assert printed_point("ERM") == {"training.learning_rate": 0.001}


def test_the_paper_s_bound_is_noted():
    assert (
        "trained on the target itself: RSNA 73.8, ChexPert 66.5, NIH 59.9." in chest_xray("quick", "source").notes[-1]
    )
