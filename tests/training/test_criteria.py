"""Which epoch is kept: by validation scores of a classifier, or by how good matches of validation inputs are."""

from dataclasses import replace

import pytest
import torch
from lightning_fabric import Fabric
from safetensors.torch import load_file
from torch import nn

from matchdg.core.errors import InputError
from matchdg.data import DomainDataset, DomainSplit, PixelInputs
from matchdg.matching import MatchTable, RepresentationSettings
from matchdg.methods import METHODS
from matchdg.networks import Network
from matchdg.training import RunSettings, TrainingSettings, execute, run_folder
from matchdg.training.criteria import ClassCriterion, MatchCriterion, on_device
from matchdg.training.evaluate import evaluate, mean_of
from matchdg.training.objective import Objective
from matchdg.training.records import read_records

OBJECTS, DOMAINS = 8, 3
FABRIC = Fabric(accelerator="cpu", devices=1)


def data(domains=DOMAINS, names=None):
    """Objects 0 to 7 in every domain, the first half of class 0; an input is its object within its class and domain."""
    objects = torch.arange(OBJECTS).repeat(domains)
    columns = torch.arange(domains).repeat_interleave(OBJECTS)
    inputs = torch.stack([objects % (OBJECTS // 2), columns], 1).float()
    names = names or tuple(f"source {column}" for column in range(domains))
    return DomainDataset(inputs, objects // (OBJECTS // 2), columns, objects, ("0", "1"), names)


@pytest.fixture
def split():
    return DomainSplit(train=data(), validation=data(), test=data(1, ("target",)), targets=("target",))


class Apply(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, inputs):
        return self.function(inputs)


def objective(function, features=1):
    """A network whose representation is `function(inputs)`; the logits are of seed 0."""
    torch.manual_seed(0)
    network = Network(Apply(function), nn.Identity(), nn.Linear(features, 2), features)
    return Objective(network, METHODS["erm"].build(None, network, DOMAINS))


def knows_objects(inputs):
    return inputs[:, :1].round()


def knows_domains_too(inputs):
    return torch.stack([inputs[:, 0].round(), 100 * inputs[:, 1].round()], 1)


def knows_nothing(inputs):
    return torch.zeros(len(inputs), 1)


def match_criterion(split, keep="top10-overlap", seed=0, **measured):
    settings = TrainingSettings(keep=keep)
    return MatchCriterion(split, settings, FABRIC, RepresentationSettings(**measured), seed)


class TestMatches:
    def test_a_network_that_knows_objects_is_perfect(self, split):
        scores, value = match_criterion(split)(objective(knows_objects), 0)
        assert scores == {
            "augmentation": {"overlap": 100.0, "top10_overlap": 100.0, "mean_rank": 1.0},
            "neighbours": {"mutual": 100.0},
        }
        assert value == pytest.approx(-100, abs=1e-5)

    def test_a_network_that_knows_nothing_is_no_better_than_chance(self, split):
        """Four inputs a class and domain, all at one point: the places are shared out, and one pair is mutual."""
        scores, _ = match_criterion(split)(objective(knows_nothing), 0)
        assert scores["augmentation"] == {"overlap": 25.0, "top10_overlap": 100.0, "mean_rank": 2.5}
        assert scores["neighbours"] == {"mutual": 25.0}

    @pytest.mark.parametrize(
        ("keep", "expected"),
        [
            ("top10-overlap", -100 + 2.5e-6),
            ("overlap", -25 + 2.5e-6),
            ("mean-rank", 2.5),
            ("mutual", -25 + 2.5e-6),
            ("last", -7.0),
        ],
    )
    def test_what_is_kept_by_has_the_least_value(self, split, keep, expected):
        _, value = match_criterion(split, keep)(objective(knows_nothing), 7)
        assert value == pytest.approx(expected, abs=1e-9)

    @pytest.mark.parametrize("keep", ["overlap", "mean-rank", "mutual", "top10-overlap"])
    def test_the_better_representation_is_kept_also_where_a_measure_is_at_its_end(self, split, keep):
        criterion = match_criterion(split, keep)
        assert criterion(objective(knows_objects), 1)[1] < criterion(objective(knows_nothing), 0)[1]

    def test_the_matcher_s_representation_is_measured(self, split):
        # By the logits nothing is known here, and the domain's shift is in the way until it is taken out.
        known = objective(knows_domains_too, features=2)
        nn.init.zeros_(known.network.classifier.weight)
        assert match_criterion(split)(known, 0)[0]["augmentation"]["overlap"] == 100
        assert match_criterion(split, layer="logits")(known, 0)[0]["augmentation"]["overlap"] == 25
        shifted = objective(lambda inputs: inputs[:, :1].round() + 2 * inputs[:, 1:].round())
        assert match_criterion(split)(shifted, 0)[0]["neighbours"]["mutual"] < 100
        assert match_criterion(split, normalise="centre")(shifted, 0)[0]["neighbours"]["mutual"] == 100

    def test_augmentations_are_the_same_in_every_epoch_and_others_with_another_seed(self, split):
        raw = objective(lambda inputs: inputs[:, :1])
        everything = torch.arange(len(split.validation))
        augmented = [match_criterion(split, seed=seed).augmented.inputs[everything] for seed in (0, 0, 1)]
        assert torch.equal(augmented[0], augmented[1])
        assert not torch.equal(augmented[0], augmented[2])
        assert not torch.equal(augmented[0], split.validation.inputs)
        criterion = match_criterion(split, "mean-rank")
        assert criterion(raw, 0) == criterion(raw, 1)

    def test_unknown_objects_are_not_missed(self, split):
        blind = replace(split, validation=replace(split.validation, objects=None))
        known, unknown = (match_criterion(part)(objective(knows_objects), 0) for part in (split, blind))
        assert known == unknown

    def test_a_class_with_one_point(self, split):
        validation = split.validation.select(torch.tensor([0, 1, 4, 8, 9, 12, 16, 20]))
        scores, _ = match_criterion(replace(split, validation=validation))(objective(knows_objects), 0)
        assert scores["augmentation"]["overlap"] == 100

    def test_features_that_are_no_numbers_are_an_error(self, split):
        with pytest.raises(InputError, match="NaN or infinite"):
            match_criterion(split)(objective(lambda inputs: inputs[:, :1] / 0), 0)

    def test_the_network_stays_as_it_was(self, split):
        known = objective(knows_objects).train()
        match_criterion(split, statistics="cell")(known, 0)
        assert known.training


class TestClasses:
    def criterion(self, split, table=None, **settings):
        return ClassCriterion(split, TrainingSettings(**settings), FABRIC, table)

    def test_by_loss_accuracy_or_the_last(self, split):
        known = objective(knows_objects)
        expected = evaluate(known, split.validation)
        for keep, value in (
            ("loss", mean_of(expected, "loss")),
            ("accuracy", -mean_of(expected, "accuracy")),
            ("last", -5.0),
        ):
            scores, found = self.criterion(split, keep=keep)(known, 5)
            assert scores == expected
            assert found == pytest.approx(value)

    def test_by_the_target_the_scores_are_still_those_of_the_sources(self, split):
        known = objective(knows_objects)
        scores, value = self.criterion(split, keep="accuracy", selection="target")(known, 0)
        assert scores == evaluate(known, split.validation)
        assert value == -evaluate(known, split.test)["target"]["accuracy"]

    def test_by_the_objective_at_the_end_of_training(self, split):
        """The penalty counts in full, however early the epoch and long the warm-up."""
        known = objective(knows_domains_too, features=2)
        spec = METHODS["perfmatch"]
        known.method = spec.build(spec.settings(penalty=0.5, warm_up=1.0, layer="representation"), known.network, 3)
        rows = torch.tensor([[3, 11, 19], [5, 13, 21]])
        criterion = self.criterion(split, MatchTable(rows, torch.zeros(2).long()), keep="objective", epochs=10)
        _, value = criterion(known, 0)
        # Domains are 100 apart: squared distances of 1, 1 and 4 times 10^4.
        inputs, labels = split.validation.inputs[rows.T.flatten()], split.validation.labels[rows.T.flatten()]
        loss = nn.functional.cross_entropy(known.network(inputs).logits, labels).item()
        assert value == pytest.approx(loss + 0.5 * 2e4, rel=1e-5)


def test_on_the_cpu_the_data_stay_where_they_are(split):
    assert on_device(split.train, torch.device("cpu")) is split.train


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_on_a_gpu_inputs_labels_and_domains_are_there_and_tables_stay(split):
    pixels = PixelInputs(torch.zeros(len(split.train), 1, 2, 2, dtype=torch.uint8))
    moved = on_device(replace(split.train, inputs=pixels), torch.device("cuda"))
    assert {part.device.type for part in (moved.inputs, moved.labels, moved.domains)} == {"cuda"}
    assert moved.inputs[torch.tensor([1, 0])].device.type == "cuda"


@pytest.fixture(scope="module")
def two_targets(tmp_path_factory):
    """MatchDG twice, on the same sources and different targets."""
    out, runs = tmp_path_factory.mktemp("targets"), []
    for angle in (90, -60):
        data = {"sources": [15, 30, 45], "targets": [angle], "size": 8, "train_per_domain": 60, "test_per_domain": 40}
        run = RunSettings.parse(
            {
                "dataset": {"name": "rotated-digits", **data},
                "method": "matchdg",
                "training": {"epochs": 2, "batch_rows": 20},
                "phase1": {"training": {"epochs": 3, "batch_rows": 30}, "matcher": {"every": 1}},
            }
        )
        execute(run, out)
        runs.append(run)
    return out, runs


@pytest.mark.parametrize("phase", [1, 2])
def test_nothing_of_the_target_is_in_weights_matches_or_the_choice_of_an_epoch(two_targets, phase):
    out, runs = two_targets
    folders = [run_folder(out, run.phase1 if phase == 1 else run) for run in runs]
    assert folders[0] != folders[1]
    for name in ("weights.safetensors", "matches.safetensors"):
        first, second = (load_file(folder / name) for folder in folders)
        assert first.keys() == second.keys()
        assert all(torch.equal(value, second[key]) for key, value in first.items())
    records = [read_records(folder / "records.jsonl") for folder in folders]
    for first, second in zip(*records, strict=True):
        assert {**first, "seconds": 0} == {**second, "seconds": 0}
