"""Samples in any container and of any type: the same numbers mean the same, and stay."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from fuzz import draws
from fuzz.checks import Unchanged, refusal, same_bits

Rng = np.random.Generator


def _mapped(X: np.ndarray, folder: str) -> np.ndarray:
    path = Path(folder) / "samples.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


def _read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def _strided(X: np.ndarray) -> np.ndarray:
    wide = np.full((2 * len(X), 3 * X.shape[1]), np.nan, dtype=X.dtype)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def containers_do_not_matter(rng: Rng) -> str:
    """Lists, frames, memory maps, strange orders and types hold the numbers that they hold."""
    n, F = draws.size(rng)
    X = np.round(draws.parts(rng, n, F) * 16)
    model = draws.model(rng, F, draws.ANY)
    expected = model.fit(X).components_.copy()
    codes = model.transform(X)
    with tempfile.TemporaryDirectory() as folder:
        disguise: dict[str, Any] = {
            "list": X.tolist(),
            "tuple": tuple(map(tuple, X.tolist())),
            "frame": pd.DataFrame(X, columns=[f"f{j}" for j in range(F)]),
            "frame of integers": pd.DataFrame(X.astype(int)),
            "nullable frame": pd.DataFrame(X).convert_dtypes(),
            "F order": np.asfortranarray(X),
            "read-only": _read_only(X),
            "strided": _strided(X),
            "reversed": X[::-1].copy()[::-1],
            "big-endian": X.astype(">f8"),
            "memory map": _mapped(X, folder),
            "int64": X.astype(np.int64),
            "int32": X.astype(np.int32),
            "uint64": X.astype(np.uint64),
            "objects": X.astype(object),
            "masked, nothing hidden": np.ma.masked_array(X),
            "long double": X.astype(np.longdouble),
            "matrix of a subclass": X.view(_Subclass),
        }
        name = draws.one_of(rng, *disguise)
        samples = disguise[name]
        with Unchanged(samples):
            again = type(model)(**model.get_params()).fit(samples)
            coded = again.transform(samples)
            again.score_samples(samples)
        same_bits(again.components_, expected, f"The dictionary from {name}")
        same_bits(np.asarray(coded), codes, f"The codes of {name}")
    return "right"


class _Subclass(np.ndarray):
    """An array by another name."""


def small_types_are_floats(rng: Rng) -> str:
    """Bytes, booleans, halves and short integers are the float32 numbers that they stand for."""
    n, F = draws.size(rng)
    X = np.round(np.minimum(draws.parts(rng, n, F) * 16, 127))
    kind = draws.one_of(rng, "uint8", "int8", "uint16", "int16", "bool", "float16", ">f4")
    X = X.astype(kind)
    model = draws.model(rng, F, draws.ANY)
    plain = X.astype(np.float32)
    expected = model.fit(plain).components_.copy()
    if rng.random() < 0.3 and X.dtype.name != "float16" and kind != ">f4":
        rows = sparse.csr_array(X)
        gap = np.abs(model.score_samples(rows) - model.score_samples(plain))
        size = float(np.abs(plain).max())
        allowed = 1e-3 * (np.abs(model.score_samples(plain)) + size**2 + size)
        assert (gap <= allowed).all(), f"Scores of {kind} rows differ by {gap.max():.2g}."
        return "right"
    again = type(model)(**model.get_params()).fit(X)
    same_bits(again.components_, expected, f"The dictionary from {kind}")
    same_bits(again.transform(X), model.transform(plain), f"The codes of {kind}")
    return "right"


def masks_are_gaps(rng: Rng) -> str:
    """What a masked array hides is missing: sentinels are never learned."""
    n, F = draws.size(rng)
    X = draws.parts(rng, n, F)
    model = draws.model(rng, F, draws.ANY)
    hidden = rng.random(X.shape) < 0.2
    sentinel = draws.one_of(rng, -999.0, 1e20, np.nan, np.inf, 0.0)
    masked = np.ma.masked_array(np.where(hidden, sentinel, X), hidden)
    gaps = np.where(hidden, np.nan, X)
    if model.get_params().get("divergence") == "mahalanobis" and hidden.any():
        refusal(lambda: model.fit(masked))
        return "refused"
    expected = model.fit(gaps).components_.copy()
    codes, scores = model.transform(gaps), model.score_samples(gaps)
    with Unchanged(masked):
        same_bits(model.transform(masked), codes, "The codes")
        same_bits(model.score_samples(masked), scores, "The scores")
        again = type(model)(**model.get_params()).fit(masked)
    same_bits(again.components_, expected, "The dictionary")
    return "right"


def gaps_are_filled_within_what_was_seen(rng: Rng) -> str:
    """`impute` keeps what is there, and fills gaps inside the range seen, or leaves them open."""
    n, F = draws.size(rng)
    X = draws.parts(rng, n, F) * 10.0 ** rng.integers(-5, 6)
    model = draws.model(rng, F, draws.ANY)
    if model.get_params().get("divergence") == "mahalanobis":
        model.set_params(divergence="squared_l2", divergence_parameter=None)
    missing = rng.random(X.shape) < rng.uniform(0, 0.5)
    if rng.random() < 0.3:
        missing[rng.integers(n)] = True
    if rng.random() < 0.3:
        missing[:, rng.integers(F)] = True
    missing[0] = False
    gaps = np.where(missing, np.nan, X)
    model.fit(gaps)
    with Unchanged(model, gaps):
        filled = model.impute(gaps)
    same_bits(filled[~missing], gaps[~missing], "What was there")
    unknown_row = missing.all(axis=1)
    assert np.isnan(filled[unknown_row]).all(), "A row of which nothing is known was made up."
    known = missing & ~unknown_row[:, None]
    assert np.isfinite(filled[known]).all(), "A gap was left open though the row is known."
    seen = ~missing
    low = np.where(seen, X, np.inf).min(axis=0)
    high = np.where(seen, X, -np.inf).max(axis=0)
    slack = 1e-6 * np.abs(X).max()
    inside = (filled >= low - slack) & (filled <= high + slack)
    assert inside[known].all(), "A gap was filled with what was never seen."
    return "right"


FAMILIES = [
    containers_do_not_matter,
    small_types_are_floats,
    masks_are_gaps,
    gaps_are_filled_within_what_was_seen,
]
