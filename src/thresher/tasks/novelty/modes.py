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
from thresher.published.novelty import BatchImpl, L2Batch, Online
from thresher.solvers import Published
from thresher.tasks.novelty.directions import Directions
from thresher.tasks.novelty.fixed_terms import FixedTermsMemory
from thresher.tasks.novelty.memory import DictionaryMemory, DirectionMemory, Memory
from thresher.tasks.novelty.published import BatchMemory, OnlineMemory


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

    def grown(self, eta: int) -> int:
        """New atoms a step, η if nothing else was said."""
        return eta if self.n_new_atoms is None else self.n_new_atoms


def _directions(settings: MemorySettings) -> Memory:
    """Sums of the unit vectors of groups of documents."""
    return DirectionMemory(
        Directions.none(settings.n_components, settings.n_features, settings.seed)
    )


def _online(mode: Online, settings: MemorySettings) -> Memory:
    shared = {"code_penalty": mode.code_penalty, **settings.common}
    model = OnlineL1Dictionary(solver=mode.solver, **shared)
    starter = L1Dictionary(solver=mode.starter, max_iter=mode.rounds, tol=mode.rtol, **shared)
    return OnlineMemory(model, settings.grown(0), single=mode.single, starter=starter)


def _batch_impl(mode: BatchImpl, settings: MemorySettings) -> Memory:
    model = L1Dictionary(solver=mode.solver, code_penalty=mode.code_penalty, **settings.common)
    return BatchMemory(
        model,
        settings.grown(mode.eta),
        single=mode.single,
        rounds=mode.rounds,
        rtol=mode.rtol,
        zero_atoms=mode.as_printed,
        keeps_codes=True,
    )


def _l2_batch(mode: L2Batch, settings: MemorySettings) -> Memory:
    model = BatchNMF(solver=mode.solver, code_penalty=mode.code_penalty, **settings.common)
    return BatchMemory(
        model,
        settings.grown(mode.eta),
        unit=mode.unit,
        single=mode.single,
        rounds=mode.rounds,
        rtol=mode.rtol,
    )


_PUBLISHED: dict[type[Published], Callable[[Any, MemorySettings], Memory]] = {
    Online: _online,
    BatchImpl: _batch_impl,
    L2Batch: _l2_batch,
}
_NAMED = {kind.name: kind for kind in _PUBLISHED}


def check_mode(mode: Any) -> None:
    """Refuse what is no mode."""
    names = ("auto", *_NAMED)
    if not (mode in names if isinstance(mode, str) else type(mode) in _PUBLISHED):
        raise ValueError(
            f"mode={mode!r} is not known; use one of {', '.join(names)}, or "
            "thresher.solvers.batch_impl() and its kin."
        )


def check_model(model: Any, n_new_atoms: int | None) -> None:
    """Refuse what cannot score documents."""
    needed = ("fit", "transform", "objective_samples", "grow")
    if is_square(model):
        if model.whiten or n_new_atoms:
            raise ValueError(
                "An orthogonal dictionary of documents has one atom for each term: leave out "
                "whiten and n_new_atoms, and give the number of terms as n_components."
            )
    elif model is not None and (
        isinstance(model, type) or not all(hasattr(model, name) for name in needed)
    ):
        raise ValueError(
            f"model={model!r} cannot score documents; give a dictionary model of the library, such "
            "as OnlineNMF(100, divergence='kl'), or leave it out."
        )


def memory_of(mode: Any, settings: MemorySettings) -> Memory:
    """An empty memory of a mode, by its name or with constants of one's own."""
    if isinstance(mode, str) and mode == "auto":
        return _directions(settings)
    published = _NAMED[mode]() if isinstance(mode, str) else mode
    return _PUBLISHED[type(published)](published, settings)


def of_model(model: Any, settings: MemorySettings) -> Memory:
    """The dictionary that a user chose."""
    if not is_square(model):
        return DictionaryMemory(clone(model), settings.grown(0))
    square = clone(model)
    if square.random_state is None:
        square.set_params(random_state=settings.seed)
    return FixedTermsMemory(square, settings.n_components)


def is_square(model: Any) -> bool:
    """Whether a model has one atom for each term, and cannot grow."""
    return isinstance(model, OnlineOrthogonalDictionary)
