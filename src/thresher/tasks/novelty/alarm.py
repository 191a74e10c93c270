"""From scores to marks: which documents of a step are called novel."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from thresher.linalg import Array

_REMEMBERED = 2000  # scores; by judgement, enough to tell one in twenty to a tenth of itself
_BURST = 2.0  # times the false alarms to be expected: more are a new topic; by judgement
_MEASURABLE = 50  # scores that a quartile is taken of, at least; by judgement


@dataclass
class Alarm:
    """One of three rules, and the scores of the stream that the last of them needs.

    Parameters
    ----------
    threshold : float, optional
        ζ: a document is novel if its score is larger (Algorithm 4).
    top_share : float, optional
        This share of every step is novel, those of the largest scores (appendix D).
    false_alarm_rate : float
        Without the other two: novel is what scores above all but this share of the documents
        before. If these were not novel, and a document is like them, it is marked with at most
        this probability.
    """

    threshold: float | None = None
    top_share: float | None = None
    false_alarm_rate: float = 0.05
    past: deque[float] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def __post_init__(self) -> None:
        if self.threshold is not None and self.top_share is not None:
            raise ValueError("Give threshold or top_share, not both: each marks by itself.")
        if self.threshold is not None and not np.isfinite(self.threshold):
            raise ValueError(f"threshold={self.threshold!r} must be a number.")
        for name in ("top_share", "false_alarm_rate"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1:
                raise ValueError(f"{name}={value!r} must lie between 0 and 1.")

    def marks(self, scores: Array) -> NDArray[np.bool_]:
        """Which of these documents are novel."""
        if self.top_share is not None:
            count = int(np.ceil(self.top_share * len(scores)))
            marked = np.zeros(len(scores), dtype=bool)
            marked[np.argsort(-scores, kind="stable")[:count]] = True
            return marked
        if self.threshold is not None:
            return np.asarray(scores > self.threshold)
        return np.asarray(self.p_values(scores) <= self.false_alarm_rate)

    def p_values(self, scores: Array) -> Array:
        """Share of documents before that scored as high, this one counted with them."""
        past = np.sort(self._comparable(scores))
        as_high = len(past) - np.searchsorted(past, scores, side="left")
        return np.asarray((as_high + 1) / (len(past) + 1))

    def _comparable(self, scores: Array) -> Array:
        """The scores before, as they would be by now.

        Scores fall as more is known, and old ones would make the rule too careful. How far they
        fell shows in the lower quartile of a step, which novel documents can only raise; what
        chance could do, twice its standard error, is left out.
        """
        past = np.fromiter(self.past, dtype=np.float64)
        if min(len(scores), len(past)) < _MEASURABLE:
            return past
        before, now = np.quantile(past, (0.25, 0.75)), np.quantile(scores, 0.25)
        spread = before[1] - before[0]
        fell = before[0] - now - 2 * spread * np.sqrt(1 / len(scores) + 1 / len(past))
        return past - max(0.0, fell)

    def learn(self, scores: Array) -> None:
        """Remember the scores of a step; the oldest are forgotten.

        If far more documents are marked than chance would mark, most are novel indeed, and with
        their scores nothing novel would be marked for a long time. Then only as many are
        remembered as false alarms were to be expected, those of the lowest scores.
        """
        values = np.asarray(scores, dtype=np.float64)
        marked = self.p_values(values) <= self.false_alarm_rate
        expected = self.false_alarm_rate * len(values)
        usual = np.sort(values[marked])
        self.past = deque(self._comparable(values).tolist(), maxlen=_REMEMBERED)
        if len(usual) > _BURST * expected:
            usual = usual[: int(np.ceil(expected))]
        self.past.extend(values[~marked].tolist())
        self.past.extend(usual.tolist())
