"""What a detector of novel documents remembers with: its own way, those of paper B, any model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn.base import clone

from thresher.estimators import (
    BatchNMF,
    L1Dictionary,
    OnlineL1Dictionary,
    OnlineOrthogonalDictionary,
)
from thresher.tasks.novelty.directions import Directions
from thresher.tasks.novelty.fixed_terms import FixedTermsMemory
from thresher.tasks.novelty.memory import DictionaryMemory, DirectionMemory, Memory

_ALTERNATIONS = 3  # a step of the batch methods; by judgement, for time (docs/novelty.md)
_NEW_ATOMS = 10  # η of paper B for the batch methods


class MemorySettings(NamedTuple):
    """What a memory is made from."""

    n_components: int
    n_new_atoms: int | None
    n_features: int
    seed: int
    verbose: int

    @property
    def common(self) -> dict[str, Any]:
        """Parameters of any model."""
        return {
            "n_components": self.n_components,
            "random_state": self.seed,
            "verbose": self.verbose,
        }

    @property
    def grown(self) -> int:
        """New atoms a step of the methods that grow."""
        return _NEW_ATOMS if self.n_new_atoms is None else self.n_new_atoms


def directions(settings: MemorySettings) -> Memory:
    """Sums of the unit vectors of groups of documents."""
    return DirectionMemory(
        Directions.none(settings.n_components, settings.n_features, settings.seed)
    )


def online(settings: MemorySettings) -> Memory:
    """ONLINE of paper B, started by the batch method."""
    model = OnlineL1Dictionary(solver="oiadmm", **settings.common)
    starter = _batch_dictionary(settings)
    return DictionaryMemory(model, settings.n_new_atoms or 0, single=True, starter=starter)


def batch_impl(settings: MemorySettings) -> Memory:
    """Algorithm 4 of paper B."""
    return DictionaryMemory(_batch_dictionary(settings), settings.grown, single=True)


def l2_batch(settings: MemorySettings) -> Memory:
    """Algorithm 5 of paper B: squares, documents of length one."""
    model = BatchNMF(
        divergence="squared_l2", code_penalty=0.1, max_iter=_ALTERNATIONS, **settings.common
    )
    return DictionaryMemory(model, settings.grown, unit="l2", single=True)


MODES: dict[str, Callable[[MemorySettings], Memory]] = {
    "auto": directions,
    "online": online,
    "batch_impl": batch_impl,
    "l2_batch": l2_batch,
}


def of_model(model: Any, settings: MemorySettings) -> Memory:
    """The dictionary that a user chose."""
    if not is_square(model):
        return DictionaryMemory(clone(model), settings.n_new_atoms or 0)
    square = clone(model)
    if square.random_state is None:
        square.set_params(random_state=settings.seed)
    return FixedTermsMemory(square, settings.n_components)


def is_square(model: Any) -> bool:
    """Whether a model has one atom for each term, and cannot grow."""
    return isinstance(model, OnlineOrthogonalDictionary)


def _batch_dictionary(settings: MemorySettings) -> Any:
    return L1Dictionary(solver="admm", max_iter=_ALTERNATIONS, **settings.common)
