"""Ratings in, what users would say of the rest out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from thresher.engine import ProgressBar
from thresher.estimators.parameters import KeepsParameters, check_parameters
from thresher.estimators.reporting import write_page
from thresher.estimators.unfinished import warn_unfinished
from thresher.linalg import Array
from thresher.persistence import Contents
from thresher.tasks.ratings.file import pack_ratings, unpack_ratings
from thresher.tasks.ratings.kept import KeptRatings
from thresher.tasks.ratings.learning import (
    Pattern,
    RatingState,
    Scale,
    caught_up,
    newcomers,
    swept,
)
from thresher.tasks.ratings.table import matrix_of, pairs_of, triples_of

_LIKELY = 0.5


class Recommendations(NamedTuple):
    """The best items for some users, the best first."""

    users: Any
    """Ids, or numbers of rows for new users, (n,)."""
    items: Any
    """Ids of items, (n, count); None where a user has rated nearly everything."""
    ratings: Array
    """What each would be rated; NaN where there is none."""


class RatingModel(KeepsParameters, TransformerMixin, BaseEstimator):
    r"""Tell how users would rate what they have not rated, whoever else lies.

    A rating is

    .. math:: r_{ui} = \mu + a_u + b_i + p_u \cdot q_i + \text{noise}, \qquad
              \text{noise} \sim N(0, s_u^2),

    with biases a and b, tastes p and q, and a noise of each user's own. All of them are believed
    with as much certainty as the ratings give (variational Bayes), and how much they vary is
    learned as well: who rated little is close to the average, without a constant to set. Raters
    whose ratings are told better by their own mean than by what they rate do not count for others.

    Parameters
    ----------
    n_components : int
        Tastes K; those that explain nothing shrink to nothing.
    robust : bool
        Whether suspicious raters count less.
    tol : float
        `fit` ends when a sweep moves predictions by less than this, in standard deviations of the
        ratings.
    max_iter : int
        Sweeps at most.
    random_state : int, RandomState or None
        Draws the tastes to begin with.
    verbose : int

    Attributes
    ----------
    users_, items_ : arrays
        Ids; those that came together are sorted.
    user_bias_, item_bias_ : arrays
        In the unit of the ratings.
    spam_scores_ : array of shape (n_users,)
        How likely each user rates without regard to what he rates.
    suspicious_users_ : array
        Ids of those with whom that is likelier than not.
    user_noise_ : array of shape (n_users,)
        Standard deviation of a user's ratings from what is told.
    mean_ : float
    n_ratings_seen_, n_iter_ : int

    Notes
    -----
    All ratings are kept, 16 bytes each, since nobody wants to be recommended what he has rated.

    Examples
    --------
    >>> from thresher import RatingModel
    >>> users, items = ["ann", "ann", "ben", "ben", "eve"], ["tea", "ink", "tea", "oil", "tea"]
    >>> model = RatingModel(2, random_state=0).fit((users, items, [5, 3, 4, 1, 5]))
    >>> model.recommend(["eve"], 1).items.tolist()
    [['ink']]
    """

    _kept: KeptRatings
    _state: RatingState

    def __init__(
        self,
        n_components: int = 10,
        *,
        robust: bool = True,
        tol: float = 5e-3,
        max_iter: int = 50,
        random_state: Any = None,
        verbose: int = 1,
    ) -> None:
        self.n_components = n_components
        self.robust = robust
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from ratings.

        Parameters
        ----------
        X : sparse matrix (users × items), tuple (users, items, ratings), or data frame
            What a sparse matrix stores are ratings, zeros among them; of a dense one, zeros and
            NaN are none. A frame has users, items and ratings in its first three columns; ids are
            numbers or texts. Of a pair that is rated twice the last rating counts.
        y : ignored
        """
        self._check_parameters()
        kept = KeptRatings.of(X)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        n, m = kept.X.shape
        state = RatingState.begun(Scale.of(kept.X.data), n, m, self.n_components, seed)
        self._adopt(kept, state)
        return self._run()

    def resume(self, X: Any = None, y: Any = None) -> Self:
        """Go on with a `fit` that was interrupted, on the ratings that it had."""
        self._check_is_fitted()
        return self._run()

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more ratings, of old and new users and items.

        Only what is believed of them changes, given all their ratings, and beside a copy of all
        ratings the work grows with these. Who is suspicious is seen by `fit` alone.
        """
        if not hasattr(self, "_state"):
            return self.fit(X)
        self._check_goes_on()
        triples = triples_of(X)
        kept, users, items = self._kept.with_more(triples)
        state = self._state.with_room(*kept.X.shape)
        state = RatingState(**vars(state) | {"scale": state.scale.seeing(triples.values)})
        state = caught_up(state, Pattern.of(kept.X, state.scale), users, items)
        return self._adopt(kept, state)

    # --------------------------------------------------------------------- verbs

    def predict(self, X: Any) -> Array:
        """Ratings of pairs (users, items), within the range of those that were seen.

        A user or an item that is not known is taken for an average one.
        """
        self._check_is_fitted()
        users, items = pairs_of(X)
        kept = self._kept
        told = self._state.predicted(kept.users.numbers(users), kept.items.numbers(items))
        return self._in_range(told)

    def recommend(self, users: Any = None, n: int = 10, *, ratings: Any = None) -> Recommendations:
        """The items that users have not rated and would rate best.

        Parameters
        ----------
        users : array-like, optional
            Ids; by default all users.
        n : int
            Items for each.
        ratings : sparse matrix (new users × items), optional
            Of new users, in the order of ``items_``: nothing is learned from them.
        """
        self._check_is_fitted()
        if not isinstance(n, int | np.integer) or n < 1:
            raise ValueError(f"n={n!r} must be a positive integer.")
        kept, state = self._kept, self._state
        if ratings is not None:
            rated = self._new_rows(ratings)
            names, means = np.arange(rated.shape[0]), newcomers(state, rated).mean
        else:
            names = kept.users.array() if users is None else np.asarray(users)
            numbers = kept.users.numbers(names)
            if (numbers < 0).any():
                first = names[np.flatnonzero(numbers < 0)[0]]
                raise ValueError(f"User {first} is not known; give the user's ratings instead.")
            rated, means = kept.X[numbers], state.users.mean[numbers]
        return self._best(names, rated, means, min(n, len(kept.items)))

    def transform(self, X: Any) -> Array:
        """Bias and tastes of new users, (n, 1 + K), given their ratings of known items.

        Nothing is learned from them. X has a row for each user and the columns of ``items_``.
        """
        self._check_is_fitted()
        return self._state.scale.unit * newcomers(self._state, self._new_rows(X)).mean

    def inverse_transform(self, codes: Any) -> Array:
        """Ratings of all items by users with these biases and tastes, (n, n_items)."""
        self._check_is_fitted()
        codes, state = np.asarray(codes, dtype=np.float64), self._state
        if codes.ndim != 2 or codes.shape[1] != state.items.mean.shape[1]:
            raise ValueError(
                f"Codes have {state.items.mean.shape[1]} columns, a bias and the tastes; got the "
                f"shape {codes.shape}."
            )
        return self._in_range(_all_items(state, codes / state.scale.unit))

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the root mean square error of other ratings of the same users and items."""
        self._check_is_fitted()
        users, items, values = triples_of(X)
        return -float(np.sqrt(np.mean((self.predict((users, items)) - values) ** 2)))

    def report(self, path: str | Path) -> Path:
        """Write a page that shows what was learned."""
        from thresher.tasks.ratings.report import ratings_report

        return write_page(self, ratings_report(self), path, "fit(ratings)")

    # ---------------------------------------------------------- what was learned

    @property
    def users_(self) -> Any:
        """Ids of the users."""
        self._check_is_fitted()
        return self._kept.users.array()

    @property
    def items_(self) -> Any:
        """Ids of the items."""
        self._check_is_fitted()
        return self._kept.items.array()

    @property
    def mean_(self) -> float:
        """μ."""
        self._check_is_fitted()
        return self._state.scale.center + self._state.scale.unit * self._state.level

    @property
    def user_bias_(self) -> Array:
        """By how much more than others each user gives."""
        self._check_is_fitted()
        return self._state.scale.unit * self._state.users.mean[:, 0]

    @property
    def item_bias_(self) -> Array:
        """By how much more than others each item gets."""
        self._check_is_fitted()
        return self._state.scale.unit * self._state.items.mean[:, 0]

    @property
    def components_(self) -> Array:
        """Tastes of the items, (K, n_items)."""
        self._check_is_fitted()
        return self._state.items.mean[:, 1:].T.copy()

    @property
    def spam_scores_(self) -> Array:
        """How likely each user rates without regard to what he rates."""
        self._check_is_fitted()
        return self._state.suspicions.copy()

    @property
    def suspicious_users_(self) -> Any:
        """Ids of users who are likelier than not to do so."""
        return self.users_[self.spam_scores_ > _LIKELY]

    @property
    def user_noise_(self) -> Array:
        """How far each user's ratings are from what is told of them, as a standard deviation."""
        self._check_is_fitted()
        return self._state.scale.unit / np.sqrt(self._state.precisions)

    @property
    def n_ratings_seen_(self) -> int:
        """Ratings that are kept."""
        self._check_is_fitted()
        return len(self._kept.X.data)

    @property
    def n_iter_(self) -> int:
        """Sweeps."""
        self._check_is_fitted()
        return self._state.n_sweeps

    @property
    def n_features_in_(self) -> int:
        """Items."""
        self._check_is_fitted()
        return len(self._kept.items)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns of `transform`."""
        self._check_is_fitted()
        tastes = [f"taste{k}" for k in range(self.n_components)]
        return np.array(["bias", *tastes], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    # ------------------------------------------------------------------- details

    def _run(self) -> Self:
        pattern = Pattern.of(self._kept.X, self._state.scale)
        with ProgressBar("RatingModel: sweeps", self.max_iter, self.verbose > 0) as bar:
            while self._state.n_sweeps < self.max_iter and not self._state.moved <= self.tol:
                # Kept after every sweep, so that an interruption loses nothing.
                self._state = swept(self._state, pattern, self.robust)
                bar.update(self._state.n_sweeps)
        if self.tol > 0:
            warn_unfinished(self, self._state.moved / self.tol, unit="sweeps", stacklevel=4)
        return self

    def _best(self, names: Any, rated: Any, means: Array, n: int) -> Recommendations:
        ids = np.empty(len(self._kept.items) + 1, dtype=object)
        ids[:-1] = self._kept.items.ids
        chosen = np.full((len(names), n), len(ids) - 1)
        told = np.full((len(names), n), np.nan)
        for row in range(len(names)):
            ratings = _all_items(self._state, means[[row]])[0]
            ratings[rated.indices[rated.indptr[row] : rated.indptr[row + 1]]] = -np.inf
            best = np.argpartition(-ratings, n - 1)[:n]
            best = best[np.argsort(-ratings[best], kind="stable")]
            best = best[ratings[best] > -np.inf]
            chosen[row, : len(best)] = best
            told[row, : len(best)] = self._in_range(ratings[best])
        return Recommendations(names, ids[chosen], told)

    def _new_rows(self, X: Any) -> Any:
        # A newcomer may have rated nothing yet.
        rows, known = matrix_of(X, may_be_empty=True), len(self._kept.items)
        if rows.shape[1] != known:
            raise ValueError(
                f"X has {rows.shape[1]} features, but RatingModel is expecting {known} features as "
                "input: a column for each of items_."
            )
        return rows

    def _in_range(self, told: Array) -> Array:
        scale = self._state.scale
        return np.clip(scale.center + scale.unit * told, scale.low, scale.high)

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _check_is_fitted(self) -> None:
        check_is_fitted(self)
        self._check_goes_on()

    def _adopt(self, kept: KeptRatings, state: RatingState) -> Self:
        self.__dict__.update(_kept=kept, _state=state, _began_as=self._identity())
        return self

    def _packed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """For `thresher.save`."""
        return pack_ratings(self)

    @classmethod
    def _unpacked(cls, contents: Contents) -> Self:
        """For `thresher.load`."""
        return unpack_ratings(contents)


def _all_items(state: RatingState, means: Array) -> Array:
    items = state.items.mean
    told: Array = state.level + means[:, :1] + items[:, 0] + means[:, 1:] @ items[:, 1:].T
    return told
