"""Figures 4 to 6 and Theorem 3 of paper D (Xue and Lau, 2021): its synthetic streams.

Samples are ``y = xD`` with Bernoulli–Gaussian codes of density θ on a random orthogonal dictionary
of N atoms; all methods see the same batches of B and start from the same random dictionary. What is
told is error (24), median and quartiles over trials. The error of SFW is that of its polar factor,
as in the authors' code.

The gap of Theorem 3 is exact, not estimated: given its support, a code is normal, so expectations
are sums over the 2^N supports. Beside it stands ``ln(t+2)/(t+3)^(1/4)``, the rate of the theorem,
scaled to the first gap, as its constant is not stated.
"""

from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from benchmarks.common import Row, clock

from thresher import OnlineOrthogonalDictionary
from thresher.datasets import make_orthogonal_stream
from thresher.learning import Progress, random_orthogonal
from thresher.linalg import Array, polar
from thresher.metrics import orthogonal_error

METHODS: dict[str, dict[str, Any]] = {
    "auto": {},
    "NoncvxSFW": {"solver": "noncvx_sfw"},
    "ℓ4 NoncvxSFW": {"solver": "noncvx_sfw", "p": 4},
    "SFW": {"solver": "sfw"},
}
BASE: dict[str, Any] = {"B": 10, "N": 10, "theta": 0.3, "noise": 0.0}
FIGURES: dict[str, tuple[str, tuple[float, ...]]] = {
    "figure_4": ("B", (1, 10, 50)),
    "figure_5": ("N", (10, 20, 50)),
    "figure_6": ("theta", (0.1, 0.3, 0.5)),
    "noise": ("noise", (0.05,)),
}
"""The paper does not print all its values; these hold those of the authors' scripts."""


def looks(n_steps: int) -> list[int]:
    """Steps at which something is measured: a logarithmic grid, and round numbers."""
    grid = {round(t) for t in np.geomspace(1, n_steps, 45)}
    return sorted(grid | {t for t in (30, 100, 300, 400, 600, 800, 1000, 3000) if t <= n_steps})


def dictionaries(options: dict[str, Any], setting: dict[str, Any], n_steps: int, seed: int) -> Any:
    """The true dictionary, and the learned one at each look."""
    B, N = int(setting["B"]), int(setting["N"])
    stream = make_orthogonal_stream(
        n_steps * B, N, setting["theta"], setting["noise"], random_state=seed
    )
    learner = OnlineOrthogonalDictionary(**options)._plan(N)[0].method.learner
    D, weight = random_orthogonal(N, np.random.default_rng(seed)), np.ones(B)
    state = learner.begin(stream.data[:B], weight, D)
    wanted, found = set(looks(n_steps)), []
    for t in range(1, n_steps + 1):
        Y = stream.data[(t - 1) * B : t * B]
        D, state = learner.update(
            state, learner.summarise(state, D, Y, weight), D, Progress(t, B, t * B, 1.0)
        )
        if t in wanted:
            found.append(D)
    return stream.dictionary, found


def curve(method: str, changed: dict[str, Any], trials: int, n_steps: int) -> Row:
    """Quartiles of the error at each look, and how many trials met the goal of `auto`."""
    errors = []
    with clock() as spent:
        for seed in range(trials):
            truth, learned = dictionaries(METHODS[method], BASE | changed, n_steps, seed)
            errors.append([orthogonal_error(truth, polar(D)) for D in learned])
    at = looks(n_steps)
    late = np.array(errors)[:, at.index(min(1000, n_steps))]
    return {
        "trials": trials,
        "steps": at,
        "quartiles": np.quantile(errors, (0.25, 0.5, 0.75), axis=0).tolist(),
        "largest at 1000": float(late.max()),
        "share below 1e-10 at 1000": float(np.mean(late < 1e-10)),
        "microseconds a step": 1e6 * spent.wall / trials / n_steps,
    }


@lru_cache(maxsize=1)
def supports(N: int, theta: float) -> tuple[Array, Array]:
    """All supports, and their probabilities."""
    b = np.array(list(product((0.0, 1.0), repeat=N)))
    n = b.sum(axis=1)
    return b, theta**n * (1 - theta) ** (N - n)


def exact_gap(truth: Array, D: Array, theta: float) -> float:
    """``‖∇‖_* + ⟨∇, D⟩`` of ``F = −E‖yDᵀ‖₃³``.

    With ``W = D D_trueᵀ``, a code given the support b is normal with variance ``‖w ∘ b‖²``, so
    ``F = −2√(2/π) Σ_w E_b ‖w ∘ b‖³``.
    """
    b, share = supports(len(D), theta)
    W = D @ truth.T
    lengths = np.sqrt((W * W) @ b.T)
    gradient = -6 * np.sqrt(2 / np.pi) * W * ((lengths * share) @ b)
    return float(np.linalg.norm(gradient, "nuc") + np.sum(gradient * W))


def gaps(trials: int, n_steps: int) -> Row:
    """Mean gap at each look, the rate, and the slopes of both from step 100 on."""
    values = []
    for seed in range(trials):
        truth, learned = dictionaries(METHODS["NoncvxSFW"], BASE, n_steps, seed)
        values.append([exact_gap(truth, D, BASE["theta"]) for D in learned])
    t, mean = np.array(looks(n_steps)), np.mean(values, axis=0)
    least = np.minimum.accumulate(mean)
    rate = np.log(t + 2) / (t + 3) ** 0.25
    late = t >= min(100, n_steps // 2)
    return {
        "trials": trials,
        "steps": t.tolist(),
        "mean": mean.tolist(),
        "rate": (rate * mean[0] / rate[0]).tolist(),
        "slope": float(np.polyfit(np.log(t[late]), np.log(least[late]), 1)[0]),
        "slope of the rate": float(np.polyfit(np.log(t[late]), np.log(rate[late]), 1)[0]),
        "largest ratio to the rate": float((least / (rate * mean[0] / rate[0])).max()),
    }
