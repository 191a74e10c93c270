"""The serialiser of parameters, and the parts of the library that a saved model may contain."""

import dataclasses
from typing import Any

from thresher import learning, losses, penalties, sets
from thresher.engine import MannWhitneyDrift
from thresher.losses import Loss
from thresher.penalties import Penalty
from thresher.persistence import Serialiser
from thresher.sets import ConvexSet
from thresher.solvers import PUBLISHED

_SCHEDULES = (learning.HalfLife, learning.PlainAverage, learning.PowerForgetting)


def _public(module: Any, kind: type) -> list[type]:
    named = (getattr(module, name) for name in module.__all__)
    return [
        part
        for part in named
        if isinstance(part, type) and issubclass(part, kind) and dataclasses.is_dataclass(part)
    ]


PARTS: dict[str, type] = {
    part.__name__: part
    for part in (
        *_public(sets, ConvexSet),
        *_public(penalties, Penalty),
        *_public(losses, Loss),
        *_SCHEDULES,
        MannWhitneyDrift,
        *PUBLISHED.values(),
    )
}
"""Parts that a saved model may contain as parameters."""

PARAMETERS = Serialiser(PARTS)
"""Parameters as JSON and back: numbers, strings, arrays, and the library's own parts."""
