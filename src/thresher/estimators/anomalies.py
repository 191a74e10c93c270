"""scikit-learn's words for anomalies, of samples and of single readings, for the robust models."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import OutlierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from thresher.cluster import is_collection
from thresher.estimators.by_batch import all_of, comes_in_parts
from thresher.estimators.coded_block import CodedBlock
from thresher.estimators.containers import samples_like
from thresher.estimators.inputs import computing_dtype
from thresher.estimators.parameters import RULES, check_parameter
from thresher.estimators.usual import (
    FALSE_ALARM_RATE,
    RecentSamples,
    Usual,
    column_scales,
    thinned,
    threshold_at,
)
from thresher.linalg import Array
from thresher.streams import Batch


class FlagsAnomalies(OutlierMixin):
    """`calibrate`, `predict`, `decision_function` and `reading_scores` of a robust model.

    Of a model that was not calibrated they go by the last samples that it learned from, so that
    ``fit(X).predict(X)`` works; `calibrate` sets a threshold that holds for new samples.
    """

    components_: Array
    _recent: RecentSamples | None
    _calibrated_threshold: float
    _reading_scale: Array
    _flags_anomalies = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if tags.input_tags.positive_only:  # scikit-learn gives negative numbers to all detectors
            tags.estimator_type = None
        return tags

    def calibrate(self, X: Any, false_alarm_rate: float = FALSE_ALARM_RATE) -> Self:
        """Set `offset_` so that normal samples are flagged at no more than the given rate.

        The threshold is the ``⌈(n + 1)(1 − rate)⌉``-th smallest loss of the n samples given: if
        these are normal and a new sample is exchangeable with them, it is flagged with at most
        that probability, whatever the data's distribution. Use samples that `fit` has not seen.
        """
        check_parameter("false_alarm_rate", false_alarm_rate, RULES["false_alarm_rate"])
        losses, scales = self._measured_on(X)
        self._calibrated_threshold = threshold_at(losses, None, false_alarm_rate, strict=True)
        if scales is not None:
            self._reading_scale = scales
        return self

    def decision_function(self, X: Any, *, write: Any = None) -> Any:
        """How far the loss of every sample is below the threshold; negative for anomalies.

        ``score_samples(X) - offset_``, so that higher is more normal. Sources and ``write`` are as
        in `transform`.
        """
        threshold = self._threshold()
        if write is not None or comes_in_parts(X):
            return self._model._by_batch("decision_function", X, write)
        return self._model.score_samples(X) + threshold

    def predict(self, X: Any, *, write: Any = None) -> Any:
        """+1 for normal samples and −1 for anomalies: the sign of `decision_function`.

        Without `calibrate`, one in a hundred of the last samples that the model learned from is an
        anomaly. Sources and ``write`` are as in `transform`.
        """
        self._threshold()
        if write is not None or comes_in_parts(X):
            return self._model._by_batch("predict", X, write)
        return np.where(self.decision_function(X) < 0, -1, 1)

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Learn, then flag the same samples: `fit` and `predict`."""
        self._model._check_is_read_again(X)
        return self._model.fit(X, y, **fit_params).predict(X)

    def reading_scores(self, X: Any, *, write: Any = None) -> Any:
        """A score of every single reading: the higher, the more normal; zero is as foretold.

        ``−|x − cD| / s``: the distance of an entry from what the dictionary says of it, in
        standard deviations s of such distances in its column (`reading_scale_`). So columns of
        different units can be compared. In normal noise one reading in 16,000 is below −4.

        Parameters
        ----------
        X : array-like or data frame of shape (n, F), or a source (`thresher.open`)
        write : path or array, optional
            As in `transform`.

        Returns
        -------
        array or frame of shape (n, F), or an iterable of them
            As `impute` gives them; NaN where a reading is missing.
        """
        model = self._model
        if model.implicit_zeros == "missing":
            raise TypeError(
                "reading_scores needs whole columns, which stored entries alone do not give; with "
                "implicit_zeros='missing', use separate(X).outliers."
            )
        scale = self.reading_scale_
        if write is not None or comes_in_parts(X):
            return model._by_batch("reading_scores", X, write)
        if sparse.issparse(X):
            raise TypeError(
                "reading_scores gives a dense array of the size of the data; pass X.toarray(), or "
                "a source, which is read batch by batch."
            )
        checked = model._checked(X, known=True)
        scores = np.array(checked, dtype=computing_dtype(checked), order="C")
        scale = scale.astype(scores.dtype)
        for rows, prediction in model._reconstructions(checked):
            scores[rows] = -np.abs(scores[rows] - prediction) / scale
        return samples_like(X, scores, model)

    @property
    def offset_(self) -> float:
        """The score below which a sample is an anomaly, as in scikit-learn's outlier detectors.

        Without `calibrate`, of the last samples that the model learned from one in a hundred has a
        lower score.
        """
        return -self._threshold()

    @property
    def reading_scale_(self) -> Array:
        """The usual size of a residual in each column, (F,), as a standard deviation.

        Measured by medians on the samples of `calibrate`, or else on the last that the model
        learned from.
        """
        check_is_fitted(self, "components_")
        given: Array | None = getattr(self, "_reading_scale", None)
        usual = None if given is not None else self._usual_now()
        scales = given if usual is None else usual.scales
        if scales is None:
            raise ValueError(
                "Call calibrate with normal samples first, dense ones: nothing tells yet how far "
                "readings usually are from what is said of them."
            )
        return scales

    # ------------------------------------------------------------------- details

    @property
    def _model(self) -> Any:
        """Itself, as what it is mixed into."""
        return self

    def _threshold(self) -> float:
        check_is_fitted(self, "components_")
        if hasattr(self, "_calibrated_threshold"):
            return self._calibrated_threshold
        usual = self._usual_now()
        if usual is None:
            raise NotFittedError("Call calibrate with normal samples first: no threshold is set.")
        return usual.threshold

    def _usual_now(self) -> Usual | None:
        """What the last samples are to the model as it is."""
        recent, model = getattr(self, "_recent", None), self._model
        if recent is None:
            return None
        model._check_goes_on()
        return recent.usual(model._state, lambda batch: self._losses_and_distances(batch, True))

    def _measured_on(self, X: Any) -> tuple[Array, Array | None]:
        """Losses of normal samples, and the scales of their readings where these are scored."""
        if is_collection(X):
            return -all_of(self._model.score_samples(X)), None
        check_is_fitted(self, "components_")
        in_parts = comes_in_parts(X)
        parts = self._model._by_batch("_measured", X, None) if in_parts else [self._measured(X)]
        losses: list[Array] = []

        def distances_of_parts() -> Iterator[Array]:
            for of_part, distances in parts:
                losses.append(of_part)
                if distances is not None:
                    yield distances

        kept = thinned(distances_of_parts())
        return np.concatenate(losses), None if kept is None else column_scales(kept)

    def _measured(self, X: Any) -> tuple[Array, Array | None]:
        """Losses of samples, and how far their readings are from what is said of them."""
        batch = Batch(self._model._checked(X, known=True))
        return self._losses_and_distances(batch, quiet=False)

    def _losses_and_distances(self, batch: Batch, quiet: bool) -> tuple[Array, Array | None]:
        def both(block: CodedBlock) -> tuple[Array, Array]:
            return block.loss(), block.prediction()

        losses, X = [], batch.X
        if sparse.issparse(X):
            coded = self._model._coded(X, batch.entry_weight, CodedBlock.loss, quiet)
            return np.concatenate([loss for _, loss in coded]), None
        distances = np.array(X, dtype=computing_dtype(X), order="C")
        for rows, (loss, prediction) in self._model._coded(X, batch.entry_weight, both, quiet):
            losses.append(loss)
            distances[rows] = np.abs(distances[rows] - prediction)
        if batch.entry_weight is not None:
            distances[batch.entry_weight == 0] = np.nan
        return np.concatenate(losses), distances
