"""Frames with every kind of column name: worked on, or refused in a sentence; names come back."""

import datetime
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import thresher
from fuzz.packets import refused
from thresher import SensorCodec, SpectralUnmixer, TableCleaner, TopicModel

DAY = datetime.date(2024, 1, 1)
NAMES = {
    "strings": lambda n: [f"c{i}" for i in range(n)],
    "ints": lambda n: list(range(n)),
    "range": lambda n: pd.RangeIndex(n),
    "days": lambda n: [DAY + datetime.timedelta(days=i) for i in range(n)],
    "stamps": lambda n: pd.date_range(DAY, periods=n),
    "tuples": lambda n: pd.MultiIndex.from_tuples([(i % 2, f"c{i}") for i in range(n)]),
    "repeated": lambda n: ["c", *(f"c{i // 2}" for i in range(1, n))],
    "repeated ints": lambda n: [0] * n,
    "empty": lambda n: ["", *(f"c{i}" for i in range(1, n))],
    "None": lambda n: [None, *(f"c{i}" for i in range(1, n))],
    "NaN": lambda n: [float("nan"), *range(1, n)],
    "unicode": lambda n: ["é\n", "温度", "🙂", *(f"ü{i}" for i in range(3, n))][:n],
    "mixed": lambda n: ["0", *range(1, n)],
    "labels": lambda n: ["year", "id", "t", *(f"station {i}" for i in range(3, n))][:n],
}
"""Names of columns of pandas, by kind."""


def named(rng: np.random.Generator, X: np.ndarray) -> tuple[Any, list[Any]]:
    """Numbers as a frame of pandas, polars or Arrow, and the names of its columns."""
    kind = str(rng.choice(list(NAMES)))
    names = NAMES[kind](X.shape[1])
    luck = rng.random()
    if luck < 0.7 or not all(isinstance(name, str) for name in names):
        frame = pd.DataFrame(X)
        frame.columns = names
        return frame, list(frame.columns)
    if luck < 0.85 and len(set(names)) == len(names):
        return pl.DataFrame({name: pl.Series(x) for name, x in zip(names, X.T, strict=True)}), names
    return pa.table([pa.array(x) for x in X.T], names=names), names


def names_of(frame: Any) -> list[Any]:
    """Names as they are."""
    return list(frame.column_names if isinstance(frame, pa.Table) else frame.columns)


def values_of(frame: Any) -> np.ndarray:
    """Numbers of a frame."""
    if isinstance(frame, pa.Table):
        return np.stack([column.to_numpy() for column in frame.columns], axis=1)
    return np.asarray(frame)


def is_like(found: Any, frame: Any, names: list[Any]) -> None:
    """Whether a result is a frame of the same kind, with the names of another."""
    assert type(found) is type(frame)
    assert repr(names_of(found)) == repr(names)


def cleaned_tables(rng: np.random.Generator) -> str:
    """A cleaner takes any names, gives them back, and finds what it finds without them."""
    X = np.sin(np.arange(60)[:, None] / 5 + np.arange(int(rng.integers(3, 6))))
    X += 0.05 * rng.normal(size=X.shape)
    X[10, 1], X[20, 0] = np.nan, 50.0
    frame, names = named(rng, X)
    before = values_of(frame).copy()
    cleaner = TableCleaner(random_state=0, causal=bool(rng.random() < 0.3))
    found, plain = cleaner.clean(frame), cleaner.clean(X)
    for part, other in zip(found, plain, strict=True):
        is_like(part, frame, names)
        np.testing.assert_array_equal(values_of(part), other)
    np.testing.assert_array_equal(values_of(frame), before)
    unique = names.count(names[2]) == 1
    bounded = TableCleaner(random_state=0, bounds={names[2]: (-0.5, 0.5)}).clean(frame)
    if unique:
        assert (values_of(bounded.flags)[:, 2] >= (np.abs(X[:, 2]) > 0.5)).all()
    with tempfile.TemporaryDirectory() as folder:
        page = cleaner.report(Path(folder) / "a.html", frame)
        assert page.stat().st_size > 1000
    return "right"


ESTIMATORS = [
    "BatchNMF",
    "GoDec",
    "L1Dictionary",
    "ManhattanNMF",
    "OnlineL1Dictionary",
    "OnlineNMF",
    "OnlineOrthogonalDictionary",
    "OnlineRobustNMF",
    "OnlineRobustPCA",
    "RobustNMF",
    "RobustPCA",
    "SymmetricManhattanNMF",
]


def estimators(rng: np.random.Generator) -> str:
    """Estimators take frames as they take arrays, or refuse them in a sentence."""
    X = rng.random((30, 5)) + 0.1
    name = str(rng.choice(ESTIMATORS))
    if name == "SymmetricManhattanNMF":
        X = X[:5] + X[:5].T
    made = getattr(thresher, name)
    usual = {"n_components": 2, "random_state": 0}
    parameters = {key: usual[key] for key in usual if key in made().get_params()}
    model, plain = made(**parameters), made(**parameters)
    frame, names = named(rng, X)
    try:
        model.fit(frame)
    except (TypeError, ValueError) as error:
        assert len(set(names)) < len(names) or not all(isinstance(n, str) for n in names)
        return refused(error)
    plain.fit(X)
    np.testing.assert_allclose(model.components_, plain.components_, rtol=1e-6, atol=1e-9)
    if hasattr(model, "transform"):
        np.testing.assert_allclose(model.transform(frame), plain.transform(X), rtol=1e-6, atol=1e-9)
        if all(isinstance(n, str) for n in names):
            assert list(model.feature_names_in_) == names
    if hasattr(model, "impute"):
        is_like(model.impute(frame), frame, names)
    return "right"


def other_tasks(rng: np.random.Generator) -> str:
    """Spectra, counts and sensor values in frames, whatever their columns are called."""
    luck = int(rng.integers(3))
    if luck == 0:
        words = [f"w{i}" for i in range(8)]
        counts = rng.poisson(1.0, (40, 8)).astype(float)
        frame, _ = named(rng, counts)
        model, plain = (TopicModel(2, vocabulary=words, random_state=0) for _ in range(2))
        np.testing.assert_allclose(model.fit_transform(frame), plain.fit_transform(counts))
        return "right"
    if luck == 1:
        X = rng.dirichlet(np.ones(3), 40) @ rng.random((3, 6))
        frame, names = named(rng, X)
        try:
            shares = SpectralUnmixer(n_components=3, random_state=0).fit(frame).transform(frame)
        except (TypeError, ValueError) as error:
            return refused(error)
        assert np.asarray(shares).shape == (40, 3)
        return "right"
    X = np.round(rng.normal(size=(20, 4)), 1)
    frame, names = named(rng, X)
    data = SensorCodec(error={names[1]: 0, "*": 0.1}).compress(frame)
    values, _ = SensorCodec.decompress(data)
    at = next(j for j, name in enumerate(names) if name is names[1] or name == names[1])
    np.testing.assert_array_equal(values[:, at], X[:, at])
    with tempfile.TemporaryDirectory() as folder:
        assert SensorCodec().report(Path(folder) / "a.html", frame).stat().st_size > 1000
    return "right"


FAMILIES = [cleaned_tables, estimators, other_tasks]
