"""Robust models: separation of samples, and anomaly scores of samples and of entries."""

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import OutlierMixin as SklearnOutlierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Options, StrOptions

from thresher.cluster import is_collection
from thresher.engine import Specification
from thresher.estimators.calibration import (
    FALSE_ALARM_RATE,
    column_scales,
    distances_to,
    thinned,
    threshold_at,
)
from thresher.estimators.dictionary_estimator import DictionaryEstimator
from thresher.estimators.fitted_model import FittedModel
from thresher.estimators.parameters import POSITIVE, SHARE, check_argument
from thresher.estimators.registry import (
    OUTLIER_PENALTY,
    OUTLIER_WEIGHT,
    LossTerms,
    named_loss,
    named_outlier_weight,
)
from thresher.estimators.results import (
    as_array,
    codes_like,
    comes_in_parts,
    refuse_single_reading,
    samples_like,
)
from thresher.estimators.validation import computing_dtype
from thresher.learning import OutlierWeight
from thresher.linalg import Array
from thresher.streams import Batch


class Separation(NamedTuple):
    """Separated samples: ``X = low_rank + outliers + noise``."""

    low_rank: Any
    """The dictionary's prediction, ``codes @ components_``."""
    outliers: Any
    """Outliers; zero in most places."""
    codes: Any
    """Codes of the samples."""


class OutlierMixin(SklearnOutlierMixin, DictionaryEstimator):
    """A dictionary model whose loss sets outliers aside.

    `separate` returns the outliers. `predict` and `decision_function` flag anomalous samples,
    `entry_scores` scores single entries. Without `calibrate` their threshold and scales come from
    the last samples of `fit`, so that ``fit(X).predict(X)`` works; `calibrate` sets a threshold
    that holds for new samples.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DictionaryEstimator._parameter_constraints,
        "outlier_weight": OUTLIER_WEIGHT,
        "outlier_penalty": OUTLIER_PENALTY,
        "outlier_sign": [StrOptions({"free", "nonnegative"})],
        "outlier_bound": [POSITIVE, Options(Real, {np.inf}), None],
        "scale_samples": [StrOptions({"max"}), None],
    }

    outlier_weight: Any
    outlier_penalty: Any = "l1"
    outlier_sign: str = "free"
    outlier_bound: float | None = None

    _flags_outliers = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if tags.input_tags.positive_only:  # scikit-learn gives negative numbers to all detectors
            tags.estimator_type = None
        return tags

    def _loss_terms(self) -> LossTerms:
        loss = named_loss(self.outlier_penalty, self.outlier_sign, self.outlier_bound)
        return LossTerms(loss, self._weight_rule())

    def _specification(self, n_components: int, in_order: bool = True) -> Specification:
        given = super()._specification(n_components, in_order)
        if given.scale_samples and not given.code_regulariser.region.is_cone:
            raise ValueError(
                f"scale_samples='max' codes divided samples and multiplies their codes back, which "
                f"takes codes out of code_set={self.code_set!r}; use code_set='nonnegative', or "
                "divide the samples yourself and set scale_samples=None."
            )
        return given

    def _weight_rule(self) -> OutlierWeight:
        return named_outlier_weight(self.outlier_weight)

    @property
    def outlier_weight_(self) -> float:
        """λ in use, in the units in which samples are coded (with ``scale_samples``: of one)."""
        return self._model().outlier_weight

    # -------------------------------------------------------------- separation

    def separate(
        self,
        X: Any,
        *,
        low_rank: Array | None = None,
        outliers: Array | None = None,
        write: Any = None,
    ) -> Any:
        """Separate samples into predictions of the dictionary and outliers.

        Parameters
        ----------
        X : array-like or data frame of shape (n, F), or a source (`thresher.open`)
            From a source, or any iterable of arrays, batches are separated as they come.
        low_rank, outliers : arrays of shape (n, F), optional
            Where to write, such as memory maps for results that do not fit in memory.
        write : mapping, optional
            Where to put ``low_rank``, ``outliers`` and ``codes``, or some of them, batch by batch:
            paths (``.npy``, Parquet, Feather, CSV; video if samples are pictures) or arrays.

        Returns
        -------
        Separation, or an iterable of them
            ``low_rank``, ``outliers`` and ``codes``, as `set_output` wants them; without it
            ``low_rank`` and ``outliers`` of a data frame are frames of its kind. Of a source, one
            for each batch. An outlier of a missing entry is zero. With ``write``, the paths.
        """
        given = {"low_rank": low_rank, "outliers": outliers}
        targets = {name: target for name, target in given.items() if target is not None}
        if targets and (write is not None or comes_in_parts(X)):
            raise ValueError(
                "low_rank and outliers are arrays for the results of an array; for the results of "
                "a source use write={'low_rank': ..., 'outliers': ...}."
            )
        parts = self._apply(self._separate, X, write, **targets)
        return Separation(*parts) if isinstance(parts, list) else parts

    def _separate(
        self, given: Any, X: Any, low_rank: Array | None = None, outliers: Array | None = None
    ) -> Separation:
        dtype = computing_dtype(X)
        low_rank = np.empty(X.shape, dtype=dtype) if low_rank is None else low_rank
        outliers = np.empty(X.shape, dtype=dtype) if outliers is None else outliers
        for name, target in (("low_rank", low_rank), ("outliers", outliers)):
            if target.shape != X.shape or target.dtype.kind != "f":
                raise ValueError(
                    f"{name} must be a float array of shape {X.shape}, got {target.dtype} of shape "
                    f"{target.shape}."
                )
        codes = np.empty((X.shape[0], len(self.components_)), dtype=dtype)
        for rows, (prediction, R, C) in self._coded(X, None, FittedModel.separate):
            low_rank[rows], outliers[rows], codes[rows] = prediction, R, C
        return Separation(
            samples_like(given, low_rank, self),
            samples_like(given, outliers, self),
            codes_like(given, codes, self),
        )

    # --------------------------------------------------------------- anomalies

    def calibrate(self, X: Any, false_alarm_rate: float = FALSE_ALARM_RATE) -> Self:
        """Set `offset_` so that normal samples are flagged at no more than the given rate.

        The threshold is the ``⌈(n + 1)(1 − rate)⌉``-th smallest loss of the n samples given: if
        these are normal and a new sample is exchangeable with them, it is flagged with at most
        that probability, whatever the data's distribution. Use samples that `fit` has not seen.
        """
        check_argument("calibrate", [SHARE], false_alarm_rate=false_alarm_rate)
        self._check_is_fitted()
        losses, scales = self._losses_and_scales(X)
        self._calibrated_threshold = threshold_at(losses, None, false_alarm_rate, strict=True)
        if scales is not None:
            self._calibrated_scale = scales
        return self

    def decision_function(self, X: Any, *, write: Any = None) -> Any:
        """How far the loss of every sample is below the threshold; negative for anomalies.

        ``score_samples(X) - offset_``, so that higher is more normal. Sources and ``write`` are as
        in `transform`.
        """
        self._threshold()
        return self._apply(self._decision_function, X, write)

    def _decision_function(self, given: Any, X: Any) -> Array:
        return self._score_samples(given, X) + self._threshold()

    def predict(self, X: Any, *, write: Any = None) -> Any:
        """+1 for normal samples and −1 for anomalies: the sign of `decision_function`.

        Without `calibrate`, one in a hundred of the last samples that the model learned from is an
        anomaly. Sources and ``write`` are as in `transform`.
        """
        self._threshold()
        return self._apply(self._predict, X, write)

    def _predict(self, given: Any, X: Any) -> Array:
        return np.where(self._decision_function(given, X) < 0, -1, 1)

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Learn, then flag the same samples: `fit` and `predict`."""
        refuse_single_reading(X)
        return self.fit(X, y, **fit_params).predict(X)

    def entry_scores(self, X: Any, *, write: Any = None) -> Any:
        """Score of every single entry: the higher, the more normal; zero where it is as predicted.

        ``−|x − cD| / s``: the distance of an entry from its prediction, in standard deviations s
        of such distances in its column (`entry_scale_`). So columns of different units can be
        compared. In normal noise one entry in 16,000 is below −4.

        Parameters
        ----------
        X : array-like or data frame of shape (n, F), or a source (`thresher.open`)
        write : path or array, optional
            As in `transform`.

        Returns
        -------
        array or frame of shape (n, F), or an iterable of them
            As `impute` gives them; NaN where an entry is missing.
        """
        if self.implicit_zeros == "missing":
            raise TypeError(
                "entry_scores needs whole columns, which stored entries alone do not give; with "
                "implicit_zeros='missing', use separate(X).outliers."
            )
        return self._apply(self._entry_scores, X, write, scale=self.entry_scale_)

    def _entry_scores(self, given: Any, X: Any, scale: Array) -> Any:
        scores = np.array(X, dtype=computing_dtype(X), order="C")
        scale = scale.astype(scores.dtype)
        for rows, prediction in self._reconstructions(X):
            scores[rows] = -np.abs(scores[rows] - prediction) / scale
        return samples_like(given, scores, self)

    @property
    def offset_(self) -> float:
        """The score below which a sample is an anomaly, as in scikit-learn's outlier detectors.

        Without `calibrate`, of the last samples that the model learned from one in a hundred has a
        lower score.
        """
        return -self._threshold()

    @property
    def entry_scale_(self) -> Array:
        """Standard deviation of the residuals of each column, (F,).

        Measured by medians on the samples of `calibrate`, or else on the last samples that the
        model learned from.
        """
        self._check_is_fitted()
        scales = self._calibrated_scale
        if scales is None and (calibration := self._model().calibration) is not None:
            scales = calibration.scales
        if scales is None:
            raise ValueError(
                "Call calibrate with normal samples first, dense ones: the scale of the residuals "
                "of each column has not been measured."
            )
        return scales

    def _threshold(self) -> float:
        self._check_is_fitted()
        changed = any(event.kind == "outlier_weight" for event in self._changes())
        if self._calibrated_threshold is not None and not changed:
            return self._calibrated_threshold
        calibration = self._model().calibration
        if calibration is None:
            raise NotFittedError("Call calibrate with normal samples first: no threshold is set.")
        return calibration.threshold

    def _losses_and_scales(self, X: Any) -> tuple[Array, Array | None]:
        """Return losses of normal samples, and the scale of each column of dense samples."""
        if is_collection(X):
            return -as_array(self.score_samples(X)), None
        parts = self._apply(self._losses_and_distances, X)
        if not comes_in_parts(X):
            parts = [parts]
        losses: list[Array] = []

        def distances_of_parts() -> Iterator[Array]:
            for of_part, distances in parts:
                losses.append(of_part)
                if distances is not None:
                    yield distances

        kept = thinned(distances_of_parts())
        return np.concatenate(losses), None if kept is None else column_scales(kept)

    def _losses_and_distances(self, given: Any, X: Any) -> tuple[Array, Array | None]:
        finish: Any = FittedModel.loss if sparse.issparse(X) else FittedModel.loss_and_prediction
        return distances_to(Batch(X), self._coded(X, None, finish))
