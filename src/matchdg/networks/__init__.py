"""Networks: a featurizer and a head of any shape behind one interface."""

from typing import Final

from matchdg.networks.base import Layer, Network, Outputs
from matchdg.networks.resnet import ResNet18Settings
from matchdg.networks.slab import SlabNetworkSettings

NetworkSettings = SlabNetworkSettings | ResNet18Settings

NETWORKS: Final[dict[str, type[NetworkSettings]]] = {
    "slab": SlabNetworkSettings,
    "resnet18": ResNet18Settings,
}

__all__ = ["NETWORKS", "Layer", "Network", "NetworkSettings", "Outputs"]
