"""Models whose λ and half-life may be changed while they learn."""

from copy import copy
from dataclasses import replace
from typing import Any, Self

from thresher.engine import Event, Method, StreamState
from thresher.estimators.learned import LearnedModel
from thresher.estimators.parameters import defaults_of, is_number


class ChangingModel(LearnedModel):
    """A model with `change`."""

    def change(self, *, outlier_weight: Any = ..., forgetting: Any = ...) -> Self:
        """Learn on under another λ, another half-life, or both; what is left out stays.

        From the next batch on, in a callback of a running `fit` too. Statistics that were summed up
        under the old λ fade as ``forgetting`` says. `history_.events` tells of the change, and
        files and checkpoints hold it. What cannot be is refused, and changes nothing.

        Losses under another λ say nothing of those before: a detector of ``drift`` starts anew, a
        fit does not end by a comparison of the two, and `calibrate` has to be called again.

        Parameters
        ----------
        outlier_weight : "auto", "mad" or float
            λ. Where it is measured, the old one counts until the next batch.
        forgetting : "auto", None, float or callable
            How the past counts.
        """
        self._check_is_begun()
        self._check_goes_on()
        asked = {"outlier_weight": outlier_weight, "forgetting": forgetting}
        asked = {name: value for name, value in asked.items() if value is not ...}
        if not asked:
            raise ValueError("Nothing is to be changed; give outlier_weight, forgetting, or both.")
        if "outlier_weight" in asked and "outlier_weight" not in defaults_of(self):
            raise ValueError(
                f"{type(self).__name__} sets no outliers aside, so it has no outlier_weight to "
                "change; use OnlineRobustNMF, or change its forgetting."
            )
        asked = {n: value for n, value in asked.items() if not _same(getattr(self, n), value)}
        if not asked:
            return self
        other = copy(self)  # takes all of it over at once, if nothing is refused
        other.__dict__.update(asked)
        if other._identity().get("forgetting") != self._began_as.get("forgetting"):
            raise ValueError(
                f"{type(self).__name__} learns otherwise with a half-life than without one, so one "
                "half-life can take the place of another, and nothing else; call fit to start anew."
            )
        other._check_parameters()
        other._began_as = other._identity()
        other.history_ = copy(self.history_)
        other.history_.note(
            Event(self.n_samples_seen_, name, _told(value)) for name, value in asked.items()
        )
        if "outlier_weight" in asked:
            other._adopt(
                other._under_another_weight(self._weight_in_use()), self._position.untold()
            )
            self.__dict__.pop("_calibrated_threshold", None)
            other.__dict__.pop("_calibrated_threshold", None)
        else:  # so that a fit in progress notices
            other._adopt(replace(self._state), self._position)
        self.__dict__.update(other.__dict__)
        return self

    def _weight_in_use(self) -> float:
        """λ in use, in the unit of the state."""
        return float(self._fitted_method().threshold(self._state))

    def _under_another_weight(self, weight: float) -> StreamState:
        """The state as if it had never measured what λ follows from; it keeps λ until then."""
        state = self._state
        method: Method = self._chosen(state).method
        scale = weight / method.outlier_weight.weight(1.0, state.D.shape[1])
        watch = None if state.watch is None else state.watch.anew()
        return replace(state, scale=scale, scale_weight=0.0, watch=watch)


def _same(before: Any, now: Any) -> bool:
    """Whether two values of a parameter are the same; schedules are, if they are one object."""
    plain = all(isinstance(value, str | None) or is_number(value) for value in (before, now))
    return before is now or (plain and before == now)


def _told(value: Any) -> float:
    """A value as the number of an event: never to forget is an infinite half-life."""
    if value is None:
        return float("inf")
    return float(value) if is_number(value) else float("nan")
