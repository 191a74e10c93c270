"""Made ratings: users with tastes, and some who do not care."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arguments import require_positive, require_share

_Array = NDArray[np.float64]


class MadeRatings(NamedTuple):
    """Ratings in random order, and the truth."""

    users: Any
    items: Any
    ratings: _Array
    spammers: Any
    """Numbers of users who rate without regard to what they rate."""
    expected: _Array
    """What an honest user would say, on the average: users × items."""


def make_ratings(
    n_users: int = 300,
    n_items: int = 200,
    n_ratings: int = 10_000,
    n_tastes: int = 2,
    *,
    noise: float = 0.7,
    spam: float = 0.0,
    random_state: int | None = None,
) -> MadeRatings:
    """Draw ratings from 1 to 5: biases, tastes, noise, and popular items rated more often.

    Parameters
    ----------
    n_users, n_items, n_ratings, n_tastes : int
        Pairs that are drawn twice count once, so that there are a few ratings less.
    noise : float
        Standard deviation before rounding.
    spam : float
        Share of the users who always say 5, always 1, or anything.
    random_state : int, optional
    """
    for name, count in (("n_users", n_users), ("n_items", n_items), ("n_ratings", n_ratings)):
        require_positive(name, count)
    require_positive("n_tastes", n_tastes)
    require_share("spam", spam)
    rng = np.random.default_rng(random_state)
    tastes = 0.7 * rng.standard_normal((n_users, n_tastes))
    qualities = 0.7 * rng.standard_normal((n_items, n_tastes))
    biases = 0.4 * rng.standard_normal(n_users), 0.5 * rng.standard_normal(n_items)
    expected = 3.4 + biases[0][:, None] + biases[1] + tastes @ qualities.T
    popular = rng.gamma(0.7, size=n_items)
    active = rng.gamma(1.0, size=n_users)
    users = rng.choice(n_users, n_ratings, p=active / active.sum())
    items = rng.choice(n_items, n_ratings, p=popular / popular.sum())
    places = rng.permutation(np.unique(users * n_items + items))
    users, items = np.divmod(places, n_items)
    values = expected[users, items] + noise * rng.standard_normal(len(places))
    spammers = np.sort(rng.choice(n_users, round(spam * n_users), replace=False))
    says = dict(zip(spammers.tolist(), np.resize([5.0, 1.0, np.nan], len(spammers)), strict=True))
    for user, said in says.items():
        theirs = users == user
        anything = rng.integers(1, 6, int(theirs.sum()))
        values[theirs] = anything if np.isnan(said) else said
    return MadeRatings(users, items, np.clip(np.rint(values), 1, 5), spammers, expected)
