"""Convolutive factorisation of spectrograms, as a model that learns, codes and goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from thresher.learning import PowerForgetting
from thresher.linalg import Array
from thresher.tasks.sound.convolutive import (
    POWERS,
    better_codes,
    better_parts,
    divergence_of,
    model_of,
    slopes_of_parts,
)

_TRIAL = 15  # rounds after which beginnings are compared
_ROUNDS = 200  # at most
_LOOKED_AT = 10  # rounds from one look at the divergence to the next
_FALL = 1e-3  # of the divergence, in these rounds; with less, it is enough
_STEP = 5  # rounds of an online step
_LEAST = 1e-10  # of a part's length: steps multiply, so a zero would stay one for ever
_EVERYWHERE = 0.02  # of the mean loudness: a chance for windows that are no louder than the last
_FORGETTING = PowerForgetting(3.0)  # as other streams in order


class ConvolutiveNMF:
    """Parts of spectrograms, each some windows long, by majorisation (`convolutive`).

    What a stream was is kept as a majoriser, summed over its blocks, each at the parts of its time:
    its slope in an entry d is ``P − N/d^a``, and ``(N/P)^(1/a)`` is where it is least.

    Parameters
    ----------
    n_components, n_frames : int
        Parts, and windows of each.
    divergence : {"kl", "is"}
    init : array of shape (K, L, F), optional
        Parts that are known.
    frozen : array of bool, optional
        Which of them stay as they are.
    n_starts : int
        Beginnings to try for some rounds; the best goes on.
    random_state : int, RandomState or None

    Attributes
    ----------
    components_ : array of shape (K, L, F)
        Parts, of length one unless they were known.
    N_, P_ : arrays of shape (K, L, F) and (K, L, F or 1)
        The majoriser.
    n_seen_ : int
        Windows.
    unit_ : float
        The largest value of the first spectra; all are learned from in this unit.
    """

    components_: Array
    N_: Array
    P_: Array
    n_seen_: int
    unit_: float

    def __init__(
        self,
        n_components: int,
        n_frames: int,
        divergence: str,
        init: Array | None = None,
        frozen: Any = None,
        n_starts: int = 1,
        random_state: Any = None,
    ) -> None:
        self.K, self.L, self.divergence = n_components, n_frames, divergence
        self.init, self.n_starts, self.random_state = init, n_starts, random_state
        self.free = np.ones(n_components, dtype=bool) if frozen is None else ~frozen

    def fit(self, V: Array) -> Self:
        """Learn from positive spectra, (T, F)."""
        self.unit_, self.n_seen_ = float(V.max()), 0
        V = self._in_units(V)
        if self.free.any():
            C, D = self._learned(V, *self._begun(V), _ROUNDS, self.divergence)
        else:
            C, D = self._coded(V, self._known()), self._known()
        return self._adopted(D, *self._with_past(V, C, D), len(V))

    def partial_fit(self, V: Array) -> Self:
        """Learn from the spectra of a block: a step."""
        if not hasattr(self, "components_"):
            return self.fit(V)
        V = self._in_units(V)
        D = self.components_.astype(np.float32)
        C = self._coded(V, D)
        for _ in range(_STEP if self.free.any() else 0):
            N, P = self._with_past(V, C, D)
            least = (N / np.maximum(P, np.finfo(P.dtype).tiny)) ** (1 / POWERS[self.divergence])
            D[self.free] = _positive(least[self.free])
            C = better_codes(V, C, D, self.divergence)
        return self._adopted(D, *self._with_past(V, C, D), len(V))

    def transform(self, V: Array) -> Array:
        """Codes of positive spectra of size one, (T, K)."""
        C = self._coded(V.astype(np.float32), self.components_.astype(np.float32))
        return C.astype(np.float64)

    # ------------------------------------------------------------------- details

    def _in_units(self, V: Array) -> Array:
        return (V / self.unit_).astype(np.float32)

    def _known(self) -> Array:
        assert self.init is not None
        return self.init.astype(np.float32)

    def _begun(self, V: Array) -> tuple[Array, Array]:
        """The best of some beginnings.

        Itakura–Saito has bad minima, Kullback–Leibler few: so powers begin from what it says of
        their roots.
        """
        if self.init is not None:
            D = _positive(self._known())
            return self._coded(V, D), D
        rng, plain = check_random_state(self.random_state), self.divergence == "kl"
        S = V if plain else np.sqrt(V)
        pairs = [first_guess(S, self.K, self.L, rng) for _ in range(self.n_starts)]
        if self.n_starts > 1:
            pairs = [self._learned(S, *pair, _TRIAL, "kl") for pair in pairs]
        C, D = min(pairs, key=lambda pair: divergence_of(S, model_of(*pair), "kl"))
        if plain:
            return C, D
        C, D = self._learned(S, C, D, 2 * _TRIAL, "kl")
        return C**2, _positive(D**2)

    def _learned(
        self, V: Array, C: Array, D: Array, rounds: int, divergence: str
    ) -> tuple[Array, Array]:
        def step(pair: tuple[Array, Array]) -> tuple[Array, Array]:
            C = better_codes(V, *pair, divergence)
            moved = better_parts(V, C, pair[1], divergence)
            D = np.where(self.free[:, None, None], _positive(moved), pair[1])
            size = np.where(self.free, _lengths(D), 1).astype(np.float32)
            return C * size, D / size[:, None, None]

        return _settled(V, (C, D), step, rounds, divergence)

    def _coded(self, V: Array, D: Array) -> Array:
        """Codes that explain spectra by these parts."""
        level = V.sum(axis=1, keepdims=True) / D.sum(axis=(1, 2))
        C = (level / len(D)).astype(np.float32)

        def step(pair: tuple[Array, Array]) -> tuple[Array, Array]:
            return better_codes(V, pair[0], D, self.divergence), D

        return _settled(V, (C, D), step, _ROUNDS, self.divergence)[0]

    def _with_past(self, V: Array, C: Array, D: Array) -> tuple[Array, Array]:
        """N and P of the past, as far as it counts, and of a block."""
        up, down = slopes_of_parts(V, C, D, self.divergence)
        N = np.float64(D) ** POWERS[self.divergence] * up
        P = down.astype(np.float64)
        if not self.n_seen_:
            return N, P
        past = _FORGETTING(len(V), self.n_seen_ + len(V))
        return past * self.N_ + N, past * self.P_ + P

    def _adopted(self, D: Array, N: Array, P: Array, n_new: int) -> Self:
        """Free parts get the length one, and codes what they lose: c ↦ c s, d ↦ d/s."""
        s = np.where(self.free, _lengths(D), 1.0)[:, None, None]
        components = np.float64(D) / s
        if self.init is not None:
            components[~self.free] = self.init[~self.free]
        self.components_ = components
        self.N_, self.P_ = N * s ** (1.0 - POWERS[self.divergence]), P * s
        self.n_seen_ += n_new
        return self


def _settled(
    V: Array,
    pair: tuple[Array, Array],
    step: Callable[[tuple[Array, Array]], tuple[Array, Array]],
    rounds: int,
    divergence: str,
) -> tuple[Array, Array]:
    """Steps until they are of no use."""
    last = np.inf
    for number in range(1, rounds + 1):
        pair = step(pair)
        if number % _LOOKED_AT == 0:
            now = divergence_of(V, model_of(*pair), divergence)
            if last - now <= _FALL * now:
                break
            last = now
    return pair


def first_guess(V: Array, K: int, L: int, rng: np.random.RandomState) -> tuple[Array, Array]:
    """Codes and parts to begin with.

    Spectra are taken where the recording becomes louder, each unlike those before it (as k-means++
    draws its centres), and fade over the length of a part. Parts that last are sounded where the
    recording becomes louder, others where it is loud.
    """
    loud = V.sum(axis=1)
    rise = np.maximum(np.diff(loud, prepend=0), 0) + _EVERYWHERE * loud.mean()
    shapes = np.sqrt(V / loud[:, None])
    unlike = np.ones(len(V))
    spectra = []
    for _ in range(K):
        chance = np.float64(rise) * unlike
        total = chance.sum()
        at = rng.choice(len(V), p=chance / total if total > 0 else None)
        spectra.append(V[at : at + 2].mean(axis=0))
        unlike = np.minimum(unlike, np.maximum(1 - shapes @ shapes[at], 0))
    mean = V.mean(axis=0)
    S = np.stack([0.9 * s / s.sum() + 0.1 * mean / mean.sum() for s in spectra])
    fading = np.exp(-3 * np.arange(L) / L)
    # No two are alike, or they would stay alike.
    D = S[:, None, :] * fading[:, None] * rng.uniform(0.8, 1.2, (K, 1, V.shape[1]))
    C = np.repeat((loud if L == 1 else rise)[:, None], K, axis=1) / K
    size = _lengths(D)
    return (C * size).astype(np.float32), (D / size[:, None, None]).astype(np.float32)


def _lengths(D: Array) -> Array:
    lengths: Array = np.linalg.norm(D.reshape(len(D), -1), axis=1)
    return np.where(lengths > 0, lengths, 1)


def _positive(D: Array) -> Array:
    least = _LEAST * _lengths(D)
    return np.maximum(D, least[:, None, None].astype(D.dtype))
