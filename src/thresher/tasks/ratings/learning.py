"""The sweeps: users given items, noises, suspicions, items given users, priors; until they rest.

Each is a step of variational Bayes (and the priors of empirical Bayes), so that nothing has to be
chosen: ratings of few users or items shrink to what is known of all, as far as the data say.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from thresher.linalg import Array
from thresher.tasks.ratings.beliefs import Beliefs, Ratings, leverages, told, updated
from thresher.tasks.ratings.raters import Noise, evidence, suspicion

_FIRST_LOOK = 3  # sweeps before raters are told apart; by judgement
_LEAST_NOISE = 0.01  # of the variance of all ratings; by judgement
_LEAST_LEFT = 0.1  # of a rating that its own user and item were not fitted to


@dataclass(frozen=True)
class Scale:
    """The unit of ratings: their mean and standard deviation, range, and least distance."""

    center: float
    unit: float
    low: float
    high: float
    step: float

    @classmethod
    def of(cls, values: Array) -> "Scale":
        """That of the first ratings."""
        center, spread = float(values.mean()), float(values.std())
        unit = spread if spread > 0 else max(abs(center), 1.0)
        apart = np.diff(np.unique(values))
        step = float(apart.min()) if len(apart) else 0.0
        return cls(center, unit, float(values.min()), float(values.max()), step)

    @property
    def rounding(self) -> float:
        """The variance of what was rounded to the next step, in the unit."""
        return (self.step / self.unit) ** 2 / 12

    @property
    def least_noise(self) -> float:
        """The variance below which nobody's noise is, in the unit."""
        return max(self.rounding, _LEAST_NOISE)

    def seeing(self, values: Array) -> "Scale":
        """With a range that holds some more."""
        low, high = min(self.low, float(values.min())), max(self.high, float(values.max()))
        return replace(self, low=low, high=high)


@dataclass(frozen=True)
class RatingState:
    """All that was learned of users and items, in the unit of the scale."""

    scale: Scale
    level: float
    users: Beliefs
    items: Beliefs
    user_prior: Array
    item_prior: Array
    noise: Noise
    precisions: Array
    """One over the noise of every user."""
    suspicions: Array
    share: float
    n_sweeps: int = 0
    moved: float = np.inf
    """How far the last sweep moved predictions, in standard deviations of the ratings."""

    @classmethod
    def begun(cls, scale: Scale, n_users: int, n_items: int, K: int, seed: int) -> "RatingState":
        """Before anything was learned: small random tastes of the items."""
        # By judgement, in the unit of the data; the first sweeps forget these numbers.
        user_prior, item_prior = np.ones(1 + K), np.full(1 + K, 10.0)
        user_prior[0] = 10.0
        items = Beliefs(np.zeros((n_items, 1 + K)), np.zeros((n_items, 1 + K, 1 + K)))
        items.mean[:, 1:] = 0.1 * np.random.default_rng(seed).standard_normal((n_items, K))
        users = Beliefs.prior(n_users, user_prior)
        noise, rest = Noise(5.0, 0.8), (np.zeros(n_users), 0.05)
        precisions = np.full(n_users, 1 / noise.variance)
        return cls(scale, 0.0, users, items, user_prior, item_prior, noise, precisions, *rest)

    def with_room(self, n_users: int, n_items: int) -> "RatingState":
        """With newcomers, of whom nothing is known."""
        more = n_users - len(self.precisions)
        return replace(
            self,
            users=self.users.with_more(n_users, self.user_prior),
            items=self.items.with_more(n_items, self.item_prior),
            precisions=np.append(self.precisions, np.full(more, 1 / self.noise.variance)),
            suspicions=np.append(self.suspicions, np.zeros(more)),
        )

    def predicted(self, user: Any, item: Any) -> Array:
        """Ratings of pairs, in the unit of the scale; of number −1 nothing is known."""
        u = np.where(user[:, None] >= 0, self.users.mean[user], 0)
        v = np.where(item[:, None] >= 0, self.items.mean[item], 0)
        tastes: Array = np.einsum("nk,nk->n", u[:, 1:], v[:, 1:])
        return self.level + u[:, 0] + v[:, 0] + tastes


@dataclass(frozen=True)
class Pattern:
    """Who rated what, by users and by items; values ``y`` are in the order of the users."""

    X: Any
    """CSR of users × items, in the unit of the scale."""
    users: Any
    """The user of every rating."""
    by_item: Any
    """CSR of items × users; its data are places in that order."""

    @classmethod
    def of(cls, X: Any, scale: Scale) -> "Pattern":
        """Of ratings as they are given."""
        y = (X.data - scale.center) / scale.unit
        X = sparse.csr_array((y, X.indices, X.indptr), shape=X.shape)
        places = sparse.csr_array((np.arange(len(y)), X.indices, X.indptr), shape=X.shape)
        users = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        return cls(X, users, sparse.csr_array(places.T.tocsr()))

    def of_users(self, y: Array, rows: Any = slice(None)) -> Ratings:
        """The rows of users, in which all ratings weigh one."""
        X, ones = self.X, np.ones(len(y))
        squares = np.bincount(self.users, y * y, X.shape[0])
        W = sparse.csr_array((ones, X.indices, X.indptr), shape=X.shape)[rows]
        values = sparse.csr_array((y, X.indices, X.indptr), shape=X.shape)[rows]
        return Ratings(W, values, squares[rows])

    def of_items(self, y: Array, weights: Array, rows: Any = slice(None)) -> Ratings:
        """The rows of items, with the weights of the users."""
        T = self.by_item[rows]
        w, values = weights[self.users][T.data], y[T.data]
        count = np.repeat(np.arange(T.shape[0]), np.diff(T.indptr))
        W = sparse.csr_array((w, T.indices, T.indptr), shape=T.shape)
        wy = sparse.csr_array((w * values, T.indices, T.indptr), shape=T.shape)
        squares = np.bincount(count, w * values**2, T.shape[0]).astype(np.float64)
        return Ratings(W, wy, squares)


def swept(state: RatingState, pattern: Pattern, robust: bool) -> RatingState:
    """One sweep over all users and items."""
    X, rows = pattern.X, pattern.users
    n = X.shape[0]
    y, counts = X.data - state.level, np.bincount(rows, minlength=n).astype(float)
    before = state.level + told(X, state.users, state.items)
    given = pattern.of_users(y)
    found, errors = updated(given, state.items, state.user_prior, state.precisions)
    trusted = np.where(counts > 0, 1 - state.suspicions, 0)
    # Nobody is more exact than the scale, or who always says the same would be believed the most.
    errors = np.maximum(errors, counts * state.scale.least_noise)
    alike = state.n_sweeps < _FIRST_LOOK
    noise = state.noise.refitted(counts, errors, trusted, alike)
    precisions = noise.of_raters(counts, errors)
    weights = (1 - state.suspicions) * precisions
    seen = np.bincount(X.indices, minlength=X.shape[1]) > 0
    # Biases have means of zero, those of newcomers too; what is left of them is the level.
    users, more = found.centred(trusted)
    rated = pattern.of_items(y - more, weights)
    learned = updated(rated, users, state.item_prior, np.ones(X.shape[1])).beliefs
    items, still_more = learned.centred(seen.astype(float))
    moved_level = more + still_more
    after = replace(
        state,
        users=users,
        items=items,
        user_prior=users.precision(trusted),
        item_prior=items.precision(seen.astype(float)),
        noise=noise,
        precisions=precisions,
        n_sweeps=state.n_sweeps + 1,
    )
    now = told(X, users, items)
    left = y - moved_level - now
    if robust and after.n_sweeps >= _FIRST_LOOK:
        of_user, of_item = leverages(X, users, items)
        followed = precisions[rows] * of_user + weights[rows] * of_item
        residuals = left / np.maximum(1 - followed, _LEAST_LEFT)
        rounding = state.scale.rounding
        evidences = evidence(rows, n, X.data, residuals, rounding, noise.variance)
        suspicions, spammers = suspicion(evidences, counts > 0, state.share)
        after = replace(after, suspicions=suspicions, share=spammers)
    level = float(np.average(left, weights=weights[rows])) if weights[rows].any() else 0.0
    after = replace(after, level=state.level + moved_level + level)
    moved = after.level + now - before
    return replace(after, moved=float(np.sqrt(np.mean(moved**2))))


def caught_up(state: RatingState, pattern: Pattern, users: Any, items: Any) -> RatingState:
    """Beliefs of some users and items, all others being as they are: what new ratings ask for."""
    y, counts = pattern.X.data - state.level, np.diff(pattern.X.indptr).astype(float)
    for _ in range(2):  # the second time the users know what the items have learned
        update = updated(
            pattern.of_users(y, users), state.items, state.user_prior, state.precisions[users]
        )
        precisions = state.precisions.copy()
        errors = np.maximum(update.errors, counts[users] * state.scale.least_noise)
        precisions[users] = state.noise.of_raters(counts[users], errors)
        state = replace(
            state, users=state.users.with_rows(users, update.beliefs), precisions=precisions
        )
        weights = (1 - state.suspicions) * precisions
        rated = pattern.of_items(y, weights, items)
        beliefs = updated(rated, state.users, state.item_prior, np.ones(len(items))).beliefs
        state = replace(state, items=state.items.with_rows(items, beliefs))
    return state


def newcomers(state: RatingState, X: Any) -> Beliefs:
    """Beliefs of new users, given their ratings of known items: nothing else changes."""
    pattern = Pattern.of(X, state.scale)
    y, n = pattern.X.data - state.level, X.shape[0]
    counts, precisions = np.diff(X.indptr).astype(float), np.full(n, 1 / state.noise.variance)
    for _ in range(3):  # what a user's noise is, and what follows from it
        given = pattern.of_users(y)
        found = updated(given, state.items, state.user_prior, precisions)
        errors = np.maximum(found.errors, counts * state.scale.least_noise)
        precisions = state.noise.of_raters(counts, errors)
    return found.beliefs
