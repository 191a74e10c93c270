"""The loss beyond which a sample is an anomaly."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thresher.estimators.by_batch import all_of, comes_in_parts
from thresher.estimators.parameters import RULES, check_parameter
from thresher.estimators.usual import FALSE_ALARM_RATE, threshold_at
from thresher.linalg import Array


class HasThreshold:
    """A model with `calibrate` and `is_anomaly`."""

    threshold_: float
    _reading_scale: Array

    def calibrate(self, X: Any, false_alarm_rate: float = FALSE_ALARM_RATE) -> Self:
        """Set `threshold_` so that normal samples are flagged at no more than the given rate.

        The threshold is the ``⌈(n + 1)(1 − rate)⌉``-th smallest loss of the n samples given: if
        these are normal and a new sample is exchangeable with them, it is flagged with at most
        that probability, whatever the data's distribution. Use samples that `fit` has not seen.
        """
        check_parameter("false_alarm_rate", false_alarm_rate, RULES["false_alarm_rate"])
        losses, scales = self._measured_on(X)
        self.threshold_ = threshold_at(losses, None, false_alarm_rate, strict=True)
        if scales is not None:
            self._reading_scale = scales
        return self

    def _measured_on(self, X: Any) -> tuple[Array, Array | None]:
        """Losses of normal samples, and the scales of their readings where these are scored."""
        model: Any = self
        return -all_of(model.score_samples(X)), None

    def is_anomaly(self, X: Any, *, write: Any = None) -> Any:
        """Flag samples whose loss exceeds the threshold.

        Sources and ``write`` are as in `transform`.
        """
        threshold = self._threshold()
        model: Any = self
        if write is not None or comes_in_parts(X):
            return model._by_batch("is_anomaly", X, write)
        return np.asarray(-model.score_samples(X) > threshold)

    def _threshold(self) -> float:
        check_is_fitted(
            self, "threshold_", msg="Call calibrate with normal samples first: no threshold is set."
        )
        return self.threshold_
