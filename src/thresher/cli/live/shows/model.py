"""Online estimators: samples, what the parts explain, and what is set aside."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from thresher.cli.live.shows.base import Control, Fact, Show, set_parameter
from thresher.cli.live.views import parts_view, sample_view
from thresher.engine import Event, Step
from thresher.linalg import as_dense

_WEIGHT_HELP = (
    "What lies further off than λ is set aside: a number in the units of the data, auto (from "
    "their range) or mad (from their noise)."
)
_FORGETTING_HELP = (
    "Samples after which the past counts half; auto, or None to forget nothing. Small follows "
    "fast, large is steady."
)
_SAID = {
    "shift": "the losses rose; rivals without the past compete with the parts in use (p = {:.2g})",
    "replaced": "a rival took over: its loss is {:.2g} times that of the parts before",
    "kept": "the parts are kept: the best rival had {:.2g} times their loss",
    "outlier_weight": "the outlier weight was changed to {:.4g}",
    "forgetting": "the half-life was changed to {:.4g} samples",
}


class ModelShow(Show):
    """Any online estimator, by its callbacks.

    Parameters
    ----------
    names : sequence of str, optional
        Of the features.
    shape : tuple, optional
        Of samples that are pictures.
    """

    unit = "samples"
    curve = "loss"
    sample_title = "The latest sample"
    parts_title = "The parts, as they form"
    facts = (
        Fact("samples", "samples seen", "count"),
        Fact("rate", "samples a second", "count"),
        Fact("loss", "mean loss per sample"),
        Fact("certificate", "certificate: how far codes are from exact"),
        Fact("change", "change of the parts in a step", "share"),
    )

    def __init__(
        self, names: Sequence[str] | None = None, shape: tuple[int, ...] | None = None
    ) -> None:
        self._names, self._shape = names, shape
        self._white = 0.0
        self._latest: Event | None = None

    def model(self, step: Step) -> Any:
        """The estimator."""
        return step.model

    def numbers(self, step: Step) -> dict[str, Any]:
        """Those of the history."""
        row = step.row
        return {name: getattr(row, name) for name in ("samples", "loss", "certificate", "change")}

    def noticed(self, step: Step) -> list[str]:
        """Shifts, what became of them, and changes."""
        new: list[Event] = []
        for event in reversed(step.model.history_.events):
            if event is self._latest:
                break
            new.insert(0, event)
        self._latest = new[-1] if new else self._latest
        return [
            f"After {event.samples:,} samples {_SAID[event.kind].format(event.statistic)}."
            for event in new
        ]

    def view(self, step: Step) -> dict[str, Any]:
        """The last sample of the batch, taken apart by the model as it is now."""
        found = {"parts": parts_view(step.dictionary, self._names, self._fitting_shape(step))}
        if step.samples is not None and step.samples.shape[0]:
            found["sample"] = self._sample(step)
        return found

    def controls(self, step: Step) -> list[Control]:
        """λ, where there is one, and the half-life."""
        model = step.model
        found = []
        if hasattr(model, "outlier_weight"):
            weight = f"{model.outlier_weight_:.4g}"
            now = weight if isinstance(model.outlier_weight, str) else ""
            given = str(model.outlier_weight)
            found.append(Control("outlier_weight", "Outlier weight λ", _WEIGHT_HELP, given, now))
        given = str(model.forgetting)
        found.append(Control("forgetting", "Half-life, in samples", _FORGETTING_HELP, given))
        return found

    def change(self, step: Step, name: str, value: Any) -> None:
        """Set λ or the half-life; the next step records it in the history."""
        set_parameter(step.model, name, value)

    def _fitting_shape(self, step: Step) -> tuple[int, ...] | None:
        fits = self._shape is not None and int(np.prod(self._shape)) == step.dictionary.shape[1]
        return self._shape if fits else None

    def _sample(self, step: Step) -> dict[str, Any]:
        row, model = step.samples[-1:], step.model
        dense = np.asarray(as_dense(row)[0], dtype=np.float64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # codes for a look at them need not be exact
            if hasattr(model, "separate"):
                low_rank, outliers, _ = (np.asarray(part) for part in model.separate(dense))
                explained, aside = low_rank[0], np.where(np.isnan(dense), np.nan, outliers)[0]
            else:
                explained = (np.asarray(model.transform(row)) @ model.components_)[0]
                aside = None
        x = dense[0]
        self._white = max(self._white, float(np.nanmax(x, initial=0.0)))
        shape = self._fitting_shape(step)
        return sample_view(x, explained, aside, self._names, shape, self._white)
