from dataclasses import replace

import pytest
import torch

from matchdg.core.errors import InputError
from matchdg.data import DomainDataset
from matchdg.experiments.figures import reproduce_figure
from matchdg.experiments.figures.tsne import Shown, plane, read, some, tsne, tsne_pacs
from matchdg.experiments.study import override
from matchdg.experiments.tables.pacs import pacs_resnet18


@pytest.fixture
def figure(shrunk):
    whole = tsne("quick")
    return type(whole)(shrunk(whole.study), read)


def shown(features, labels, domains):
    return Shown(torch.tensor(features), torch.tensor(labels), torch.tensor(domains), ("a", "b"), ("0", "15", "90"), 2)


def test_every_input_shown_is_a_point_and_the_summary_tells_source_from_target(figure, quiet, tmp_path):
    values = reproduce_figure(figure, tmp_path, 1, quiet, "c").values
    assert values["failed"] == []
    points = [point for point in values["points"] if point["data"] == "rotMNIST"]
    # 20 % of the 40 digits validate at each of two angles; 20 digits test at each of two others.
    assert [point["domain"] for point in points] == ["15"] * 8 + ["30"] * 8 + ["0"] * 20 + ["90"] * 20
    assert [point["kind"] for point in points] == ["source"] * 16 + ["target"] * 40
    assert [point["class"] for point in points[:8]] == [point["class"] for point in points[8:16]]
    assert [tuple(row[:3]) for row in values["summary"]["rows"]] == [
        (data, 0, kind) for data in ("rotMNIST", "rotFashionMNIST") for kind in ("source", "target")
    ]
    assert all(0 <= share <= 100 for row in values["summary"]["rows"] for share in row[3:])


def test_the_ten_nearest_inputs_are_counted_by_class_and_domain():
    # Two places with eleven inputs each: one class from two sources, and a target with a single input of class b.
    features = [[1.0, 0.0]] * 11 + [[0.0, 1.0]] * 11
    found = shown(features, [0] * 21 + [1], [0] * 6 + [1] * 5 + [2] * 11).summary()
    same_domain = (6 * 5 / 10 + 5 * 4 / 10) / 11
    same_class = (10 * 9 / 10 + 0) / 11
    assert found == [("source", 100.0, round(100 * same_domain, 1)), ("target", round(100 * same_class, 1), 100.0)]


def test_with_fewer_inputs_than_neighbours_all_others_are_near():
    found = shown([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0, 0, 1], [0, 0, 2]).summary()
    assert found == [("source", 50.0, 50.0), ("target", 0.0, 0.0)]


def test_the_first_inputs_of_each_domain_are_taken(tiny):
    assert some(tiny, ("b", "a"), 2).inputs.flatten().tolist() == [3.0, 4.0, 0.0, 1.0]
    assert len(some(tiny, ("a",))) == 3


def test_equal_features_lie_at_equal_places_and_few_are_no_trouble():
    features = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    places = plane(features)
    assert places == plane(features)
    assert torch.tensor(places).shape == (5, 2)
    assert len({tuple(place) for place in places}) == 5


def test_runs_that_are_not_there_are_left_out(figure, tmp_path):
    numbers = read(figure.study, tmp_path)
    assert numbers.points == numbers.rows == []


def test_inputs_of_a_domain_are_spread_over_it_and_the_same_in_domains_alike():
    labels = [0] * 10 + [1] * 10
    data = DomainDataset.from_arrays([[float(i)] for i in range(40)], labels * 2, ["a"] * 20 + ["b"] * 20)
    assert some(data, ("b", "a"), 4).inputs.flatten().tolist() == [20, 25, 30, 35, 0, 5, 10, 15]
    assert len(some(data, ("a",), 100)) == 20


@pytest.mark.parametrize("budget", ["quick", "cpu", "paper"])
def test_on_pacs_phase_1_is_that_of_the_table_with_photo_and_with_sketch_held_out(budget):
    study = tsne_pacs(budget).study
    runs = {arm.group: arm.run({}, 0) for arm in study.arms}
    table = [arm for arm in pacs_resnet18(budget, "source").arms if arm.label == "MatchDG"]
    own = {arm.run({}, 0).dataset.targets: arm.run({}, 0).phase1.hash for arm in table}
    assert list(runs) == ["Photo as the target", "Sketch as the target"]
    assert [run.dataset.targets for run in runs.values()] == [("photo",), ("sketch",)]
    assert all(run.hash == own[run.dataset.targets] for run in runs.values())


def test_a_frozen_network_is_shown_the_features(figure, quiet, tmp_path, monkeypatch):
    monkeypatch.setenv("MATCHDG_CACHE", str(tmp_path / "cache"))
    frozen = {"network": {"name": "frozen", "backbone": "small-cnn"}}
    arms = tuple(replace(arm, base=override(arm.base, frozen)) for arm in figure.study.arms[:1])
    study = replace(figure.study, arms=arms)
    values = reproduce_figure(replace(figure, study=study), tmp_path, 1, quiet, "c").values
    assert values["failed"] == []
    assert len(values["points"]) == 56


def test_a_run_that_came_without_its_weights_is_told(figure, quiet, tmp_path):
    reproduce_figure(figure, tmp_path, 1, quiet, "c")
    for path in tmp_path.rglob("weights.safetensors"):
        path.unlink()
    with pytest.raises(InputError, match=r"came without its weights.*choose another --store"):
        reproduce_figure(figure, tmp_path, 1, quiet, "c")
