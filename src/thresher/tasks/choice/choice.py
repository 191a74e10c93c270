"""What was chosen, and what it was chosen from."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thresher.linalg import Array
from thresher.tasks.choice.candidates import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RULES = ("lowest", "one_se")
_RESOLUTION = 1e-3  # of the range of errors; chosen on planted data


class Choice:
    """The settings whose models tell hidden entries best.

    Attributes
    ----------
    best_params_ : dict
        The settings that were chosen.
    best_ : estimator
        A clone with these settings. It is fitted to the samples: anew, or, where they were read in
        the order of time, on that reading. With ``refit=False`` it has yet to learn.
    best_index_ : int
        Its row of the table.
    table_ : dict of columns
        A row for each candidate, for ``pandas.DataFrame(choice.table_)``. The settings; ``error``,
        the mean absolute error of hidden entries, in the unit of the data; ``standard_error`` of
        it; ``behind``, how much the error is above the lowest, and ``behind_error``, the standard
        error of that difference; ``stability``, how alike the atoms are that were learned from
        different rows (mean cosine of pairs; one is the same; NaN of one mask); ``seconds``. For
        topics also ``coherence``.
    errors_ : array of shape (candidates, groups)
        Errors in groups of rows, the same for all candidates; what standard errors come from.
    rule : {"lowest", "one_se"}
        How it was chosen.
    """

    best_: Any

    def __init__(
        self,
        candidates: list[Settings],
        errors: Array,
        rule: str,
        more: dict[str, Array],
        name: str,
    ) -> None:
        self.rule, self.errors_, self.name = rule, errors, name
        mean = np.nanmean(errors, axis=1)
        lowest = int(np.argmin(mean))
        behind = errors - errors[lowest]
        self.table_: dict[str, Any] = {
            key: [settings[key] for settings in candidates] for key in candidates[0]
        }
        self.table_ |= {
            "error": mean,
            "standard_error": standard_errors(errors),
            "behind": mean - mean[lowest],
            "behind_error": standard_errors(behind),
            **more,
        }
        self.best_index_ = chosen(self.table_, lowest, rule)
        self.best_params_ = candidates[self.best_index_]

    def __repr__(self) -> str:
        settings = ", ".join(f"{key}={value!r}" for key, value in self.best_params_.items())
        error = self.table_["error"][self.best_index_]
        n = len(self.table_["error"])
        return f"Choice({settings}; hidden entries are {error:.4g} off; {n} candidates)"

    def plot(self) -> "Figure":
        """The errors of all candidates with their standard errors, over the number of parts.

        Other settings have a curve each; without a number of parts, candidates are numbered.
        """
        from thresher.plotting import choice_curve

        return choice_curve(self.table_, self.best_index_)

    def report(self, path: str | Path) -> Path:
        """Write a page: the curve, the table, and what the columns measure."""
        from thresher.persistence import write_atomically
        from thresher.report import tell_run
        from thresher.tasks.choice.report import choice_report

        page = choice_report(self)
        tell_run(page, [], f"thresher.choose({self.name}(...), X, ...)")
        write_atomically(path, page.html().encode())
        return Path(path)


def standard_errors(values: Array) -> Array:
    """Of the means of rows, NaN left out."""
    counts: NDArray[np.int64] = np.sum(~np.isnan(values), axis=1)
    centred = values - np.nanmean(values, axis=1, keepdims=True)
    variances = np.nansum(centred**2, axis=1) / np.maximum(counts - 1, 1)
    return np.asarray(np.sqrt(variances / np.maximum(counts, 1)))


def chosen(table: dict[str, Any], lowest: int, rule: str) -> int:
    """The fewest parts of the lowest error; or the fewest that are hardly behind it.

    Fits are not exact, and where nothing is left to explain they differ by that alone: less than a
    thousandth of the range of all errors is no difference. ``one_se`` asks whether a candidate is
    behind by no more than a standard error of the difference. Errors of the same hidden entries are
    compared, so it is far smaller than that of the error itself, in which all candidates share the
    hard rows.
    """
    if "n_components" not in table:
        return lowest
    behind = np.asarray(table["behind"])
    allowed = np.full(len(behind), _RESOLUTION * behind.max())
    if rule == "one_se":
        allowed = np.maximum(allowed, table["behind_error"])
    near = np.flatnonzero(behind <= allowed)
    parts = np.asarray(table["n_components"])[near]
    fewest = near[parts == parts.min()]
    return int(fewest[np.argmin(table["error"][fewest])])
