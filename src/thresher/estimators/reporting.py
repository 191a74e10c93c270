"""The page about a fitted model."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from thresher.estimators.validation import as_matrix
from thresher.persistence import write_atomically

if TYPE_CHECKING:
    from thresher.report import Report


def write_page(model: Any, page: "Report", path: str | Path, call: str = "fit(X)") -> Path:
    """Write a page about a model; it ends with the code that makes the model again.

    Parameters
    ----------
    model : estimator
    page : Report
    path : str or Path
        The HTML file.
    call : str
        What was called.
    """
    from thresher.estimators.page import model_lines
    from thresher.report import tell_run

    target = Path(path)
    tell_run(page, (), model_lines(model, call))
    write_atomically(target, page.html().encode())
    return target


def model_report(model: Any, X: Any = None, shape: Sequence[int] | None = None) -> "Report":
    """Return the report of a fitted model, see `DictionaryEstimator.report`."""
    check_is_fitted(model, "components_")
    # Pictures are drawn with matplotlib, which learning does not need.
    from thresher.estimators.page import model_page

    if X is not None:
        X = as_matrix(X, model, accept_sparse="csr", ensure_all_finite="allow-nan")
    return model_page(model, X, shape)
