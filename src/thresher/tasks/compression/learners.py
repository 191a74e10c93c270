"""Dictionaries that the edge learns, one for each half-life, and when one pays for itself.

A dictionary with a short half-life fits better and has to be sent more often. What counts is the
sum of bytes: each half-life keeps an account of what its dictionary would have saved, batch by
batch, and a dictionary is sent when an account has reached what the packet costs. (Whoever rents
until the rent has come to the price, and then buys, pays at most twice what foresight would.)
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from thresher.estimators import OnlineOrthogonalDictionary
from thresher.linalg import Array
from thresher.tasks.compression.dictionary import Rotation, matched, rotation_towards

HALF_LIVES = (200.0, 1000.0, 5000.0)
"""In rows; what ``forgetting="auto"`` chooses from. Measured beside others in
docs/lab/sensor_codec.md."""


Account = tuple[float | None, int]
"""A half-life, and how many atoms are sent."""


class Candidate(NamedTuple):
    """A dictionary that could be sent, and the bytes that it costs."""

    account: Account
    rotation: Rotation
    cost: int


class Learners:
    """Follow the innovations of a stream, with several half-lives."""

    def __init__(self, half_lives: Iterable[float | None], n_nonzero: int | None) -> None:
        self._models: dict[float | None, Any] = {
            half_life: OnlineOrthogonalDictionary(
                n_nonzero=n_nonzero, forgetting=half_life, init="pca", random_state=0, verbose=0
            )
            for half_life in half_lives
        }
        self._last = np.zeros((0, 0))
        self._saved: dict[Account, float] = {}

    def learn(self, innovations: Array) -> None:
        """Learn from differences of successive rows; NaN where one is not known."""
        known = innovations[np.isfinite(innovations).any(axis=1)]
        if len(known) and np.nansum(known**2) > 0:
            self._last = np.nan_to_num(known)
            for model in self._models.values():
                model.partial_fit(known)

    def dictionaries(self) -> dict[float | None, Array]:
        """Those that have begun, atoms in falling order of their codes in the last batch."""
        begun = {h: m.components_ for h, m in self._models.items() if hasattr(m, "components_")}
        return {
            h: D[np.argsort(-np.square(self._last @ D.T).sum(axis=0), kind="stable")]
            for h, D in begun.items()
        }

    def candidates(self, cloud: Array, bits: int) -> list[Candidate]:
        """What could be sent: each half-life's atoms, all or the leading eighth or third."""
        N, found = len(cloud), []
        first = np.array_equal(cloud, np.eye(N))
        for half_life, D in self.dictionaries().items():
            D = D if first else matched(D, cloud)
            whole = rotation_towards(D, cloud, bits)
            for n_rows in sorted({max(1, N // 8), max(1, N // 3), N - 1}):
                rotation = whole.leading(n_rows, N)
                found.append(
                    Candidate((half_life, rotation.n_rows), rotation, len(rotation.written()))
                )
        return found

    def account(self, account: Account, bytes_saved: float) -> float:
        """Add what a candidate would have saved; the sum so far, never below zero."""
        self._saved[account] = max(0.0, self._saved.get(account, 0.0) + bytes_saved)
        return self._saved[account]

    def settle(self) -> None:
        """Begin new accounts, after a dictionary was sent."""
        self._saved.clear()
