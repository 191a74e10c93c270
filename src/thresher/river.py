"""Models of Thresher in river: one sample at a time, as a dict, with features that come and go.

from thresher import OnlineRobustNMF
from thresher.river import RiverAnomalyDetector

detector = RiverAnomalyDetector(OnlineRobustNMF(4))
for x in stream:
    score = detector.score_one(x)  # higher is more anomalous, as everywhere in river
    detector.learn_one(x)
"""

import copy
import math
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np

from thresher.estimators import OnlineRobustNMF
from thresher.estimators.fitting import unchanged_if_refused
from thresher.estimators.online_estimator import OnlineEstimator
from thresher.linalg import Array

try:
    from river import base
except ImportError:
    raise ImportError(
        'thresher.river needs river, which is not installed; pip install "thresher[river]".'
    ) from None

Sample = Mapping[Hashable, Any]
"""Features by name; None and NaN are gaps, as if the feature were not there."""


class _Adapter:
    """An online model that learns from dicts, in small batches of its own."""

    model: Any
    missing: float

    def __init__(self, model: Any, missing: float = math.nan) -> None:
        if not isinstance(model, OnlineEstimator):
            raise TypeError(
                f"{model!r} is no online model of Thresher; give one, such as OnlineRobustNMF()."
            )
        self.model, self.missing = model, missing
        self._waiting: list[dict[Hashable, float]] = []
        self._learned: Any = None
        self._columns: dict[Hashable, int] = {}
        if hasattr(model, "components_"):
            self._go_on_from(model)

    def _go_on_from(self, model: Any) -> None:
        if not hasattr(model, "feature_names_in_"):
            raise ValueError(
                "This model has learned from samples without names, and dicts have names; fit it "
                "to a data frame, or give a model that has not learned anything."
            )
        self._columns = {str(name): j for j, name in enumerate(model.feature_names_in_)}
        self._learned = copy.deepcopy(model)
        del self._learned.feature_names_in_  # rows have the columns of this adapter

    @property
    def model_(self) -> Any:
        """A copy of the model after the last whole batch, with names; None before the first.

        ``thresher.save(adapter.model_, path)`` writes it to a file, and an adapter of
        ``thresher.load(path)`` goes on from there (names of features must be strings).
        """
        model = copy.copy(self._learned)
        if model is not None and all(isinstance(name, str) for name in self._columns):
            model.feature_names_in_ = np.array(list(self._columns), dtype=object)
        return model

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"model": OnlineRobustNMF(3, batch_size=32, random_state=0, verbose=0)}

    # ------------------------------------------------------------------------ learning

    def learn_one(self, x: Sample) -> None:
        """Keep a sample; with it the batch may be whole, and the model takes a step.

        A value that is no number, or that the model cannot take, is refused here, and nothing has
        changed. A whole batch that the model refuses is dropped, so that the stream can go on.
        """
        self._waiting.append(self._checked(x))
        if len(self._waiting) >= self.model.batch_size:
            batch, self._waiting = self._waiting, []
            self._step(batch)

    def _checked(self, x: Sample) -> dict[Hashable, float]:
        known = {name: _number(name, value) for name, value in x.items()}
        known = {name: value for name, value in known.items() if not math.isnan(value)}
        low, high = min(known.values(), default=0.0), max(known.values(), default=0.0)
        if math.isinf(low) or math.isinf(high) or (low < 0 and self.model._nonnegative):
            self.model._checked(np.array([list(known.values())]), known=False)  # says what is wrong
        return known

    def _step(self, batch: list[dict[Hashable, float]]) -> None:
        # In an order that does not depend on that of the dicts: the same bits for any.
        new = sorted({name for x in batch for name in x} - set(self._columns), key=repr)
        columns = self._columns | {name: len(self._columns) + j for j, name in enumerate(new)}
        if not columns:
            return  # nothing but gaps so far
        model = copy.deepcopy(self.model) if self._learned is None else self._learned
        with unchanged_if_refused(model):
            if self._learned is not None and new:
                _make_room(model, len(columns), new)
            model.partial_fit(np.stack([self._row(x, columns) for x in batch]))
        self._learned, self._columns = model, columns

    # --------------------------------------------------------------------- what is known

    def transform_one(self, x: Sample) -> dict[Hashable, float]:
        """Codes of a sample, by the names of the atoms; none before the first whole batch.

        Features that were never learned from are left out.
        """
        if self._learned is None:
            return {}
        codes = np.asarray(self._learned.transform(self._one(x)))
        names = self._learned.get_feature_names_out()
        return dict(zip(names.tolist(), codes[0].tolist(), strict=True))

    def score_one(self, x: Sample) -> float:
        """The loss of a sample: the higher, the more anomalous; 0 before the first whole batch.

        This is minus `score_samples` of the model, whose scores are higher for normal samples.
        Only features that are there, and that were learned from, add to it.
        """
        if self._learned is None:
            return 0.0
        return -float(self._learned.score_samples(self._one(x))[0])

    def _one(self, x: Sample) -> Array:
        return self._row(self._checked(x), self._columns)[None]

    def _row(self, x: Mapping[Hashable, float], columns: Mapping[Hashable, int]) -> Array:
        row: Array = np.full(len(columns), self.missing)
        for name, value in x.items():
            if name in columns:
                row[columns[name]] = value
        return row


class RiverTransformer(_Adapter, base.Transformer):
    """Codes of samples, for river's pipelines: ``scaler | RiverTransformer(...) | classifier``.

    Parameters
    ----------
    model
        An online model such as ``OnlineRobustNMF(4)``. It stays as it is; `model_` is the copy
        that learns. One that is fitted to names goes on from there. Its ``batch_size`` says from
        how many samples it learns at a time; until so many have come, codes and scores are those
        of the model before (docs/guide/river.md has what small batches cost).
    missing
        What a feature is that a sample does not have: NaN, a gap that the codes are found
        without, or 0 for counts of words and the like.
    """


class RiverAnomalyDetector(_Adapter, base.AnomalyDetector):
    """Anomaly scores for river: what the dictionary does not explain; higher is more anomalous.

    Its parameters are those of `RiverTransformer`. A feature that is missing adds nothing to the
    score.
    """


def _number(name: Hashable, value: Any) -> float:
    if value is None:
        return math.nan
    try:
        if not isinstance(value, str | bytes):
            return float(value)
    except OverflowError:
        raise ValueError(
            f"The feature {name!r} is a number beyond 1e308, which float64 does not hold; scale it."
        ) from None
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"The feature {name!r} is {value!r}, which is no number; leave it out, or put a step "
        "before that makes numbers of it, such as river's preprocessing.OneHotEncoder()."
    )


def _make_room(model: Any, n_features: int, new: list[Hashable]) -> None:
    if not hasattr(model, "grow"):
        raise ValueError(
            f"{new[0]!r} was not among the features of the first batch, and "
            f"{type(model).__name__} takes no new ones; choose features with river's "
            "compose.Select, or use OnlineRobustNMF or OnlineNMF."
        )
    model.grow(n_features=n_features)
