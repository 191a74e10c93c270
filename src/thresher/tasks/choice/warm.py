"""From K parts to more: the old ones, and what their residuals have most in common."""

from typing import Any

import numpy as np
from sklearn.utils import get_tags

from thresher.linalg import Array, as_dense

_ROWS, _ENTRIES = 512, 1 << 21  # to look for new parts in; by judgement
_ROUNDS = 20
_PASSES, _STEPS = 3, 40  # at the least, to settle with a new part; chosen on planted data
_LEAST = 1e-3  # of an atom's mean entry: steps that multiply do not leave zero; by judgement
_CLIPPED_AT = 3.0  # standard deviations: beyond it is a glitch, or might be


def with_more_atoms(model: Any, X: Any, n_components: int, rng: np.random.Generator) -> Array:
    """The atoms of a model, and as many new ones as are wanted.

    A new atom d is the best of rank one for the residuals E of some samples,
    ``min over d, c of ‖E − c dᵀ‖²``, with d ≥ 0 and c ≥ 0 where the model is nonnegative. Residuals
    are clipped at what noise could be, so that no glitch becomes an atom.
    """
    atoms: Array = np.array(model.components_, dtype=np.float64)
    E = _residuals(model, X, rng)
    nonnegative = get_tags(model).input_tags.positive_only
    new: list[Array] = []
    while len(atoms) + len(new) < n_components:
        c, d = _rank_one(E, nonnegative, rng)
        E = E - np.outer(c, d)
        new.append(np.maximum(d, _LEAST * d.mean()) if nonnegative else d)
    size = np.median(np.linalg.norm(atoms, axis=1)) or 1.0
    return np.vstack([atoms, *(size * d for d in new)])


def warm_settings(
    model: Any, before: Any, X: Any, rng: np.random.Generator
) -> dict[str, Any] | None:
    """Parameters with which a model starts from another with fewer parts; None if it cannot.

    An online model whose passes end by themselves makes a few, as the old atoms have settled.
    """
    parameters = model.get_params(deep=False)
    if not isinstance(parameters.get("init"), str) or parameters.get("n_components") is None:
        return None
    atoms = with_more_atoms(before, X, parameters["n_components"], rng)
    settings: dict[str, Any] = {"init": atoms}
    if "n_starts" in parameters:
        settings["n_starts"] = 1
    if "n_passes" in parameters and parameters["n_passes"] is None:
        per_pass = -(-X.shape[0] // parameters["batch_size"])
        settings["n_passes"] = max(_PASSES, -(-_STEPS // per_pass))
    return settings


def _residuals(model: Any, X: Any, rng: np.random.Generator) -> Array:
    n, F = X.shape
    rows = np.sort(rng.permutation(n)[: max(2, min(_ROWS, _ENTRIES // F))])
    some = X[rows]
    some = np.asarray(as_dense(some)[0], dtype=np.float64)
    E = some - model.inverse_transform(model.transform(some))
    E = np.nan_to_num(np.asarray(E, dtype=np.float64))
    sizes = np.abs(E[E != 0])
    limit = _CLIPPED_AT * 1.4826 * float(np.median(sizes)) if sizes.size else 0.0
    return np.asarray(np.clip(E, -limit, limit))


def _rank_one(E: Array, nonnegative: bool, rng: np.random.Generator) -> tuple[Array, Array]:
    d: Array = np.abs(rng.standard_normal(E.shape[1]))
    d /= np.linalg.norm(d)
    c: Array = E @ d
    for _ in range(_ROUNDS):
        c = np.maximum(E @ d, 0) if nonnegative else E @ d
        better = np.maximum(c @ E, 0) if nonnegative else c @ E
        size = np.linalg.norm(better)
        if size == 0:  # nothing is left to explain
            break
        d = better / size
    return c, d
