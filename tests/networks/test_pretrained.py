"""Weights from elsewhere: what a run's name has of them, what does not fit, and what fine-tuning freezes and drops."""

from io import BytesIO

import pytest
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from matchdg.core.errors import InputError
from matchdg.networks import FrozenSettings, bare_network
from matchdg.networks.normalised import Normalised
from matchdg.networks.resnet import ResNet18Settings

SHAPE = (3, 16, 16)


@pytest.fixture(scope="module")
def state():
    from torchvision.models import resnet18

    torch.manual_seed(1)
    return resnet18(num_classes=4).state_dict()


@pytest.fixture
def file(tmp_path, state):
    def write(name="weights.pth", **changes):
        # Through memory, as `torch.save` writes the name of the file into it.
        content = BytesIO()
        torch.save({key: value for key, value in {**state, **changes}.items() if value is not None}, content)
        (tmp_path / name).write_bytes(content.getvalue())
        return tmp_path / name

    return write


def test_all_but_the_last_layer_is_loaded_and_inputs_are_normalised(file, state):
    network = ResNet18Settings(weights=str(file())).build(SHAPE, 3)
    assert isinstance(network.featurizer, Normalised)
    loaded = network.featurizer.body.state_dict()
    assert all(torch.equal(loaded[name], state[name]) for name in loaded)
    assert network.classifier.weight.shape == (3, 512)
    inputs = torch.rand(2, *SHAPE)
    mean, deviation = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    by_hand = network.eval().featurizer.body((inputs - mean[:, None, None]) / deviation[:, None, None])
    torch.testing.assert_close(network(inputs).representation, by_hand)


def test_a_new_last_layer_does_not_depend_on_the_weights(file):
    classifiers = []
    for weights in (None, file()):
        torch.manual_seed(0)
        classifiers.append(ResNet18Settings(weights=weights and str(weights)).build(SHAPE, 3).classifier.weight)
    assert torch.equal(*classifiers)


def test_the_name_of_a_run_has_the_content_and_not_the_path(file):
    one, moved = ResNet18Settings(weights=str(file("one.pth"))), ResNet18Settings(weights=str(file("moved.pth")))
    other = ResNet18Settings(weights=str(file("other.pth", **{"bn1.bias": torch.ones(64)})))
    assert one.dump() == moved.dump() != other.dump()
    assert one.dump()["weights"].startswith("sha256:")


def test_settings_read_back_need_the_file_only_to_train(file, state):
    settings = ResNet18Settings(weights=str(file()))
    again = ResNet18Settings.parse(settings.dump(), "network")
    assert again.dump() == settings.dump()
    shapes = {name: value.shape for name, value in bare_network(again, SHAPE, 3).state_dict().items()}
    assert shapes == {name: value.shape for name, value in settings.build(SHAPE, 3).state_dict().items()}
    with pytest.raises(InputError, match=r"digest sha256:\w+; name their file as network\.weights_file"):
        again.build(SHAPE, 3)
    given = ResNet18Settings.parse({**settings.dump(), "weights_file": str(file("moved.pth"))}, "network")
    assert torch.equal(given.build(SHAPE, 3).featurizer.body.conv1.weight, state["conv1.weight"])


def test_a_file_with_other_content_than_its_digest_is_refused(file):
    named = ResNet18Settings(weights=str(file())).dump()
    changed = file("changed.pth", **{"bn1.bias": torch.ones(64)})
    with pytest.raises(InputError, match=r"changed\.pth holds sha256:\w+, not the weights sha256:\w+"):
        ResNet18Settings.parse({**named, "weights_file": changed}, "network")


def test_a_file_that_changes_after_the_settings_were_read_is_noticed(file):
    settings = ResNet18Settings(weights=str(file()))
    file(**{"bn1.bias": torch.ones(64)})
    with pytest.raises(InputError, match="has changed since the settings were read"):
        settings.build(SHAPE, 3)


def test_two_files_are_one_too_many(file):
    with pytest.raises(InputError, match="as weights or as weights_file, not both"):
        ResNet18Settings.parse({"weights": str(file()), "weights_file": str(file())}, "network")


def test_a_file_is_that_of_weights_which_are_named(file):
    with pytest.raises(InputError, match="weights_file is the place of weights that are named too"):
        ResNet18Settings.parse({"weights_file": str(file())}, "network")


def test_a_backbone_finds_its_file_and_does_not_name_it(file, state):
    settings = FrozenSettings(backbone={"name": "resnet18", "weights": str(file())})
    assert settings.dump()["backbone"] == {"name": "resnet18", **ResNet18Settings(weights=str(file())).dump()}
    assert "weights_file" not in settings.dump()
    assert torch.equal(settings.build_backbone(SHAPE).featurizer.body.bn1.weight, state["bn1.weight"])
    with pytest.raises(InputError, match=r"network\.weights_file"):
        FrozenSettings.parse(settings.dump(), "network").build_backbone(SHAPE)
    again = FrozenSettings.parse({**settings.dump(), "weights_file": str(file("moved.pth"))}, "network")
    assert torch.equal(again.build_backbone(SHAPE).featurizer.body.bn1.weight, state["bn1.weight"])


@pytest.mark.parametrize(("weights", "message"), [("nowhere.pth", "could not be read"), ("imagenett", "'imagenet' or")])
def test_weights_that_are_nowhere(weights, message):
    with pytest.raises(InputError, match=message):
        ResNet18Settings.parse({"weights": weights}, "network")


def test_weights_for_another_number_of_channels(file):
    with pytest.raises(
        InputError, match=r"images of 3 channel\(s\) \(conv1\.weight: got \(64, 3, 7, 7\), expected \(64, 1"
    ):
        ResNet18Settings(weights=str(file())).build((1, 16, 16), 3)


def test_weights_for_one_channel_fit_images_of_one_and_are_not_normalised(file):
    path = file(**{"conv1.weight": torch.ones(64, 1, 7, 7)})
    assert not isinstance(ResNet18Settings(weights=str(path)).build((1, 16, 16), 3).featurizer, Normalised)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bn1.bias": torch.ones(32)}, r"bn1\.bias: got \(32,\), expected \(64,\)"),
        ({"bn1.bias": None}, r"bn1\.bias: missing, expected \(64,\)"),
        ({"surplus.bias": torch.ones(2)}, r"surplus\.bias: the network has no such tensor"),
    ],
)
def test_what_does_not_fit_is_named(file, changes, message):
    with pytest.raises(InputError, match=message):
        ResNet18Settings(weights=str(file(**changes))).build(SHAPE, 3)


def test_weights_of_another_stem_are_told(file):
    with pytest.raises(
        InputError, match=r"conv1\.weight: got \(64, 3, 7, 7\), expected \(64, 3, 3, 3\)[^+]*another stem"
    ):
        ResNet18Settings(weights=str(file()), stem="small").build(SHAPE, 3)


def test_of_many_tensors_that_do_not_fit_the_first_are_named(file, state):
    other = {name: torch.ones(1) for name in state if name.startswith("layer1") and "bias" in name}
    with pytest.raises(InputError, match=r"layer1\.0\.bn1\.bias: got \(1,\).*\n.*\n.*\n  and 1 more"):
        ResNet18Settings(weights=str(file(**other))).build(SHAPE, 3)


def test_counters_of_batches_may_be_missing(file, state):
    path = file(**{name: None for name in state if name.endswith("num_batches_tracked")})
    ResNet18Settings(weights=str(path)).build(SHAPE, 3)


def test_a_finished_run_s_weights_start_another(tmp_path):
    first = ResNet18Settings().build(SHAPE, 5)
    torch.save(first.state_dict(), tmp_path / "weights.pth")
    second = ResNet18Settings(weights=str(tmp_path / "weights.pth")).build(SHAPE, 3)
    assert torch.equal(second.featurizer.body.layer1[0].conv1.weight, first.featurizer.layer1[0].conv1.weight)


def test_dropout_is_before_the_last_layer_and_in_training_alone():
    network = ResNet18Settings(dropout=0.5).build(SHAPE, 3)
    outputs = network(torch.rand(2, *SHAPE))
    kept = outputs.hidden != 0
    torch.testing.assert_close(outputs.hidden[kept], 2 * outputs.representation[kept])
    assert 0.4 < kept[outputs.representation != 0].float().mean() < 0.6
    outputs = network.eval()(torch.rand(2, *SHAPE))
    assert torch.equal(outputs.hidden, outputs.representation)


def batch_norms(network):
    return [layer for layer in network.modules() if isinstance(layer, _BatchNorm)]


@pytest.mark.parametrize("frozen", ["no", "statistics", "all"])
def test_what_of_batch_norm_is_frozen(frozen):
    network = ResNet18Settings(freeze_batch_norm=frozen).build(SHAPE, 3)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    network.eval().train()
    network(torch.rand(4, *SHAPE)).logits.square().sum().backward()
    after = network.state_dict()
    still = [name for name in after if "running" in name and torch.equal(before[name], after[name])]
    assert len(still) == (0 if frozen == "no" else 2 * len(batch_norms(network)))
    assert {layer.weight.grad is not None for layer in batch_norms(network)} == {frozen != "all"}
    assert network.classifier.weight.grad is not None
    assert network.training


def test_frozen_statistics_make_training_passes_those_of_evaluation():
    network, inputs = ResNet18Settings(freeze_batch_norm="statistics").build(SHAPE, 3), torch.rand(4, *SHAPE)
    torch.testing.assert_close(network.train()(inputs).logits, network.eval()(inputs).logits)


def test_features_by_a_domains_own_statistics_are_the_same_with_frozen_ones():
    """Matching asks for the statistics of a batch; that training keeps to others does not matter to it."""
    from matchdg.training.embed import batch_statistics

    found = []
    for frozen in ("no", "statistics"):
        torch.manual_seed(0)
        network = ResNet18Settings(freeze_batch_norm=frozen).build(SHAPE, 3).train().eval()
        with torch.no_grad(), batch_statistics(network):
            found.append(network(torch.linspace(0, 1, 4 * 3 * 256).view(4, *SHAPE)).representation)
    assert torch.equal(*found)


def test_untrained_networks_are_as_they_were():
    """No new setting draws a random number or wraps anything while it has its default."""
    torch.manual_seed(0)
    network = ResNet18Settings().build((1, 28, 28), 10)
    assert ResNet18Settings().dump() == {"stem": "imagenet"}
    assert isinstance(network.neck, nn.Identity)
    assert {name.split(".")[0] for name in network.featurizer.state_dict()} == {
        "conv1", "bn1", "layer1", "layer2", "layer3", "layer4"
    }  # fmt: skip
