"""A page about a fitted model, for people."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from thresher.persistence import write_atomically

if TYPE_CHECKING:
    from thresher.report import Report


def write_page(model: Any, page: "Report", path: str | Path, call: str = "fit(X)") -> Path:
    """End a page about a model with the lines that make it again, and write it.

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


class WritesReport:
    """A model that can tell about itself."""

    def report(
        self, path: str | Path, X: Any = None, *, shape: Sequence[int] | None = None
    ) -> Path:
        """Write a page about this model, with pictures, and return its path.

        Parameters
        ----------
        path : str or Path
            The HTML file; it needs nothing else.
        X : array-like or CSR of shape (n, F), optional
            Samples to measure the fit on; of many, a thousand at equal distances are taken.
        shape : (height, width) or (height, width, 3), optional
            Of samples that are pictures: then so are the parts.
        """
        return write_page(self, self._page(X, shape), path)

    def _page(self, X: Any = None, shape: Sequence[int] | None = None) -> "Report":
        """The same, without an end."""
        check_is_fitted(self, "components_")
        # Pictures are drawn with matplotlib, which learning does not need.
        from thresher.estimators.inputs import as_matrix
        from thresher.estimators.page import model_page

        if X is not None:
            X = as_matrix(X, self, accept_sparse="csr", ensure_all_finite="allow-nan")
        return model_page(self, X, shape)
