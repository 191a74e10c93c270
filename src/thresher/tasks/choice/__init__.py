"""How many parts, which outlier weight, which loss, which half-life: what hidden entries say."""

from thresher.tasks.choice.choice import Choice
from thresher.tasks.choice.choosing import choose

__all__ = ["Choice", "choose"]
