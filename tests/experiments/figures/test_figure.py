import csv
import json
from dataclasses import replace

import pytest

from matchdg.core.errors import InputError
from matchdg.experiments import Study
from matchdg.experiments.figures import FigureStudy, Numbers, reproduce_figure
from matchdg.training import read_result


def read(study, store):
    """A point for each finished run."""
    runs = [arm.run({}, seed) for arm in study.arms for seed in study.seeds]
    results = [read_result(store, run) for run in runs]
    points = [
        {"seed": run.seed, "epochs": found.epochs}
        for run, found in zip(runs, results, strict=True)
        if found is not None
    ]
    return Numbers(points, ("runs",), [(len(points),)])


@pytest.fixture
def figure(arm):
    study = Study("tsne", "A title", "quick", (arm(),), seeds=(0, 1), notes=("A note.",), about_budget="small")
    return FigureStudy(study, read)


def test_the_numbers_are_kept_as_json_and_csv_with_what_made_them(figure, quiet, tmp_path):
    outcome = reproduce_figure(figure, tmp_path, 1, quiet, "matchdg reproduce tsne")
    values = json.loads((tmp_path / "tsne.json").read_text())
    assert values == json.loads(json.dumps(outcome.values))
    assert values["points"] == [{"seed": 0, "epochs": 2}, {"seed": 1, "epochs": 2}]
    assert values["summary"] == {"columns": ["runs"], "rows": [[2]]}
    assert values["command"] == "matchdg reproduce tsne"
    assert values["settings"]["runs"]["ERM"] == figure.study.arms[0].run({}, 0).dump()
    assert (values["title"], values["notes"], values["failed"]) == ("A title", ["A note."], [])
    rows = list(csv.DictReader((tmp_path / "tsne.csv").open()))
    assert rows == [{"seed": "0", "epochs": "2"}, {"seed": "1", "epochs": "2"}]


def test_runs_are_shared_through_a_store_and_not_repeated(figure, quiet, tmp_path):
    store = tmp_path / "store"
    first = reproduce_figure(figure, tmp_path / "one", 1, quiet, "c", store=store)
    again = reproduce_figure(figure, tmp_path / "two", 1, quiet, "c", store=store)
    assert quiet.stages == [("seeds", 2, 0), ("seeds", 2, 2)]
    assert first.values["points"] == again.values["points"]
    assert not (tmp_path / "one" / "runs").exists()


def test_what_fails_is_named_and_the_numbers_are_of_the_others(figure, arm, quiet, tmp_path):
    broken = arm(label="broken", learning_rate=1e30, keep="loss")
    study = replace(figure.study, arms=(*figure.study.arms, broken), seeds=(0,))
    values = reproduce_figure(replace(figure, study=study), tmp_path, 1, quiet, "c").values
    assert [failure["run"] for failure in values["failed"]] == [broken.run({}, 0).hash]
    assert "diverged" in values["failed"][0]["message"]
    assert values["points"] == [{"seed": 0, "epochs": 2}]


def test_where_everything_fails_the_csv_is_empty(figure, arm, quiet, tmp_path):
    study = replace(figure.study, arms=(arm(learning_rate=1e30, keep="loss"),))
    values = reproduce_figure(replace(figure, study=study), tmp_path, 1, quiet, "c").values
    assert values["points"] == []
    assert (tmp_path / "tsne.csv").read_text().strip() == ""


def test_the_folder_of_another_study_is_refused(figure, quiet, tmp_path):
    reproduce_figure(figure, tmp_path, 1, quiet, "c")
    other = replace(figure, study=replace(figure.study, seeds=(0,)))
    with pytest.raises(InputError, match="belongs to another study"):
        reproduce_figure(other, tmp_path, 1, quiet, "c")
