"""Networks: a featurizer and a head of any shape behind one interface."""

from typing import Final

from matchdg.networks.alexnet import AlexNetSettings
from matchdg.networks.base import Layer, Network, Outputs
from matchdg.networks.densenet import DenseNet121Settings
from matchdg.networks.domainbed import DomainBedCnnSettings
from matchdg.networks.efficientnet_lite import EfficientNetLite0Settings
from matchdg.networks.frozen import FrozenSettings
from matchdg.networks.lenet import LeNetSettings
from matchdg.networks.pretrained import bare_network
from matchdg.networks.resnet import ResNet18Settings, ResNet50Settings
from matchdg.networks.slab import SlabNetworkSettings
from matchdg.networks.small_cnn import SmallCnnSettings
from matchdg.networks.timm_models import TimmSettings, expanded

NetworkSettings = (
    SlabNetworkSettings
    | ResNet18Settings
    | ResNet50Settings
    | LeNetSettings
    | DomainBedCnnSettings
    | SmallCnnSettings
    | FrozenSettings
    | EfficientNetLite0Settings
    | AlexNetSettings
    | DenseNet121Settings
    | TimmSettings
)

NETWORKS: Final[dict[str, type[NetworkSettings]]] = {
    "slab": SlabNetworkSettings,
    "resnet18": ResNet18Settings,
    "resnet50": ResNet50Settings,
    "lenet": LeNetSettings,
    "domainbed-cnn": DomainBedCnnSettings,
    "small-cnn": SmallCnnSettings,
    "frozen": FrozenSettings,
    "efficientnet-lite0": EfficientNetLite0Settings,
    "alexnet": AlexNetSettings,
    "densenet121": DenseNet121Settings,
    "timm": TimmSettings,
}

# They take inputs of any shape, or features, as flat vectors; all others take images.
FLAT_NETWORKS: Final = frozenset({"slab", "frozen"})

__all__ = [
    "FLAT_NETWORKS",
    "NETWORKS",
    "FrozenSettings",
    "Layer",
    "Network",
    "NetworkSettings",
    "Outputs",
    "bare_network",
    "expanded",
]
