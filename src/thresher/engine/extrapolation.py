"""The dictionary that an alternation is on its way to, from the way it has made."""

from dataclasses import dataclass, field

import numpy as np

from thresher.linalg import Array

# By judgement: older rounds tell of a map that has changed since, and rounds that say nearly the
# same tell of rounding.
_ROUNDS = 6
_ALIKE = 1e-4


@dataclass
class Extrapolation:
    """Anderson's: from rounds that took ``D_i`` to ``T_i``, the dictionary that would stay.

    With weights of sum one that make ``Σ a_i (T_i − D_i)`` shortest, it is ``Σ a_i T_i``. A linear
    map that creeps in a few directions is at its end then.
    """

    rounds: list[tuple[Array, Array]] = field(default_factory=list)

    def add(self, before: Array, after: Array) -> None:
        """Remember a round."""
        self.rounds = [*self.rounds, (before, after)][-_ROUNDS:]

    def forget(self) -> None:
        """Begin anew with the next round."""
        self.rounds = []

    def ahead(self) -> Array | None:
        """The dictionary ahead; None where rounds say nothing of it."""
        steps = [(after - before).ravel().astype(np.float64) for before, after in self.rounds]
        if len(steps) < 2:
            return None
        # Differences from round to round, at length one: early rounds are long, late ones matter.
        changes = np.diff(steps, axis=0)
        lengths = np.linalg.norm(changes, axis=1, keepdims=True)
        if not (lengths > 0).all():
            return None
        weights = np.linalg.lstsq((changes / lengths).T, steps[-1], rcond=_ALIKE)[0] / lengths[:, 0]
        moves = np.diff([after for _, after in self.rounds], axis=0)
        last = self.rounds[-1][1]
        way = np.einsum("i,ikf->kf", weights, moves)
        ahead: Array = (last - way).astype(last.dtype)
        return ahead
