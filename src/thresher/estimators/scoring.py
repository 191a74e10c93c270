"""A score that can be compared over models: how well they tell entries that were hidden."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from thresher.estimators.inputs import computing_dtype
from thresher.estimators.parameters import RULES, check_parameter, is_number
from thresher.linalg import Array, is_only_stored, stored_rows

Places = NDArray[np.int64]
"""Entries of a matrix of F columns, counted row by row: ``row · F + column``."""


class ScoresEntries:
    """A model with `score_entries`."""

    @abstractmethod
    def _checked(self, X: Any, known: bool) -> Any:
        """Samples as an array or CSR of numbers."""

    @abstractmethod
    def _check_gaps(self, X: Any) -> None:
        """Refuse missing entries for losses that cannot leave entries out."""

    @abstractmethod
    def _reconstructions(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """What the codes say of all entries, block by block."""

    def score_entries(
        self, X: Any, y: Any = None, *, share: float = 0.1, random_state: Any = 0
    ) -> float:
        """Minus the mean absolute error of entries that are hidden while samples are coded.

        Of the observed entries a share is made missing, the samples are coded without them, and
        the predictions ``C @ components_`` are compared with what was hidden. The result is in the
        unit of the data, and higher is better. So it can be compared over ``n_components``,
        penalties, outlier weights and losses, where `score` cannot: each of these has an objective
        of its own, and more atoms always fit better what they were fitted to.

        Absolute errors, because hidden entries can be outliers. No model tells these; whatever
        their size, one of them changes the difference between two models by no more than their
        predictions differ there. In a sum of squares the largest would decide.

        Zeros are observed, also those that CSR does not store (unless
        ``implicit_zeros="missing"``), and dense and CSR are hidden alike.
        But no more zeros are hidden than other entries: absolute errors ask for the median, which
        in data of mostly zeros is zero, so that a model which says nothing would win.

        Parameters
        ----------
        X : array-like or CSR of shape (n, F)
            Samples that the model has not learned from; NaN marks entries that are missing anyway.
        y : ignored
            So that the method serves as ``scoring``, see below.
        share : float
            How much of the observed entries is hidden, between 0 and 1. No sample loses all.
        random_state : int, RandomState or None
            Decides which entries. The same seed hides the same, whatever the model is.

        Notes
        -----
        CSR is coded with gaps, which takes as long as if it were dense; some thousand rows will do.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.model_selection import GridSearchCV
        >>> from thresher import RobustNMF
        >>> rng = np.random.default_rng(0)
        >>> parts = rng.random((4, 24)) * (rng.random((4, 24)) < 0.5)
        >>> X = rng.gamma(1.0, size=(150, 4)) @ parts + 0.02 * rng.random((150, 24))
        >>> X[rng.random(X.shape) < 0.02] += 3.0
        >>> search = GridSearchCV(
        ...     RobustNMF(random_state=0, verbose=0),
        ...     {"n_components": [2, 4, 8]},
        ...     scoring=RobustNMF.score_entries,
        ...     cv=3,
        ... )
        >>> search.fit(X).best_params_
        {'n_components': 4}
        """
        check_is_fitted(self, "components_")
        if is_number(y):
            raise TypeError(f"share is given by its name: score_entries(X, share={y!r}).")
        check_parameter("share", share, RULES["share"])
        if random_state is not None:
            check_parameter("random_state", random_state, RULES["random_state"], " or None")
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        _, errors = self._entry_errors(X, share, rng)
        return -float(errors.sum(dtype=np.float64)) / len(errors)

    def _entry_errors(
        self, X: Any, share: float, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], Array]:
        """Rows of the entries that were hidden, and the absolute errors of what is said of them."""
        X = self._checked(X, known=True)
        n_features = X.shape[1]
        places, truth = hidden_entries(X, share, rng)
        with_gaps = without_entries(X, places)
        try:
            self._check_gaps(with_gaps)
        except ValueError as error:
            raise ValueError(f"score_entries hides entries, and here it cannot. {error}") from None
        errors = np.empty(len(places))
        for rows, samples in self._reconstructions(with_gaps):
            ends = np.searchsorted(places, [rows.start * n_features, rows.stop * n_features])
            here = slice(*ends)
            told = samples.ravel()[places[here] - rows.start * n_features]
            errors[here] = np.abs(told - truth[here])
        return places // n_features, errors


def hidden_entries(X: Any, share: float, rng: np.random.Generator) -> tuple[Places, Array]:
    """Draw entries to hide: of those that are not zero a share, and at most as many zeros.

    Their places, in order, and their values. Gaps are never drawn, and of every sample something
    stays.
    """
    n, F = X.shape
    kept, values = _nonzeros(X)
    is_gap = np.isnan(values)
    seen, n_zeros = np.flatnonzero(~is_gap), n * F - len(kept)
    if is_only_stored(X):
        n_zeros = 0
    some = rng.choice(seen, round(share * len(seen)), replace=False)
    # The r-th zero comes after as many other entries as have r zeros, or fewer, before them.
    ranks = rng.choice(n_zeros, round(share * min(len(seen), n_zeros)), replace=False)
    zeros = ranks + np.searchsorted(kept - np.arange(len(kept)), ranks, side="right")
    places = np.concatenate([kept[some], zeros])
    truth = np.concatenate([values[some], np.zeros(len(zeros), dtype=values.dtype)])
    n_observed = F - np.bincount(kept[is_gap] // F, minlength=n)
    if is_only_stored(X):
        n_observed = np.diff(X.indptr)
    n_hidden = np.bincount(places // F, minlength=n)
    stays = (n_hidden < n_observed)[places // F]
    order = np.argsort(places[stays])
    if not order.size:
        raise ValueError(
            f"share={share:g} of these samples hides nothing: give more samples or a larger share, "
            "and samples with two observed entries at least, not all of them zero."
        )
    return places[stays][order], truth[stays][order]


def without_entries(X: Any, places: Places) -> Any:
    """A copy of samples with NaN at some places, CSR if they are."""
    dtype = computing_dtype(X)
    if is_only_stored(X):
        row = np.repeat(np.arange(X.shape[0], dtype=np.int64), np.diff(X.indptr))
        hidden = np.isin(row * X.shape[1] + X.indices, places)
        values = np.where(hidden, np.nan, X.data.astype(dtype))
        return stored_rows(sparse.csr_array((values, X.indices, X.indptr), shape=X.shape))
    if hasattr(X, "indptr"):
        gaps = np.full(len(places), np.nan, dtype=dtype)
        return X.astype(dtype) + sparse.csr_array((gaps, divmod(places, X.shape[1])), X.shape)
    copy = np.array(X, dtype=dtype, order="C")
    copy.ravel()[places] = np.nan
    return copy


def _nonzeros(X: Any) -> tuple[Places, Array]:
    """Places, in order, and values of all entries that are not zero; gaps are among them."""
    if not hasattr(X, "indptr"):
        kept = np.flatnonzero(X)
        return kept, X.ravel()[kept].astype(computing_dtype(X))
    rows = sparse.csr_array(X, dtype=computing_dtype(X), copy=True)
    rows.sum_duplicates()  # in order, too
    if not is_only_stored(X):
        rows.eliminate_zeros()
    row = np.repeat(np.arange(rows.shape[0], dtype=np.int64), np.diff(rows.indptr))
    return row * rows.shape[1] + rows.indices, rows.data
