"""Table II of paper D, its compression scheme, and time per step: temperatures of 56 sensors.

Airly's hourly readings, Krakow 2017. In Table II missing ones are the mean over the sensors of that
hour; the first 100 samples start the dictionary (20 iterations of the batch version), then come
1400 batches of 6. RMSE is ``√(Σ‖y − ŷ‖² / Σ‖y‖²)`` with the η₀ largest codes of every sample.

* **published** protocol (section V-C): a batch is coded with the dictionary that was just learned
  from it, and the first 100 samples count, coded with the dictionary that they started.
* **causal**: a batch is coded with the dictionary before it; the first 100 do not count.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from benchmarks.common import Row, clock, find_data_file, interleaved

from thresher import OnlineOrthogonalDictionary, SensorCodec, solvers
from thresher.learning import Progress, principal_directions, random_orthogonal
from thresher.linalg import Array, polar

DATA = "airly_krakow_2017.npz"
KEPT = (2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 17, 25, 35)
FIRST, BATCH, HALF_LIFE = 100, 6, 72
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
"""λ of (23), which the paper does not give."""
MODELS: dict[str, dict[str, Any]] = {
    "NoncvxSFW": {"solver": "noncvx_sfw"},
    "ℓ4 NoncvxSFW": {"solver": "noncvx_sfw", "p": 4},
    **{f"AODL, λ = {w:g}": {"solver": solvers.aodl(penalty=w)} for w in PENALTIES},
    "auto": {},
    "auto, half-life 72": {"forgetting": HALF_LIFE},
}
Left = Callable[[Array, Array], Array]
"""Squares that a dictionary leaves out of samples, for every η₀."""


@cache
def readings() -> Array:
    """Samples in rows; NaN where a sensor is silent."""
    with np.load(find_data_file(DATA), allow_pickle=False) as z:
        found: Array = z["temperature"].astype(np.float64)
        return found


def filled() -> Array:
    """Gaps filled by the mean over sensors, as in the paper."""
    Y = readings()
    return np.where(np.isnan(Y), np.nanmean(Y, axis=1, keepdims=True), Y)


# ----------------------------------------------------------------------------- Table II


def through(Y: Array, D: Array, step: Callable[[Array], Array], left: Left, n_batches: int) -> Row:
    """RMSE in per cent in both protocols, and milliseconds of a step."""
    squares = float(np.sum(Y[:FIRST] ** 2))
    published, causal, total, spent = left(Y[:FIRST], D), np.zeros(len(KEPT)), 0.0, []
    for at in range(FIRST, FIRST + BATCH * n_batches, BATCH):
        batch = Y[at : at + BATCH]
        total += float(np.sum(batch * batch))
        causal = causal + left(batch, D)
        with clock() as now:
            D = step(batch)
        spent.append(now.wall)
        published = published + left(batch, D)
    return {
        "published": (100 * np.sqrt(published / (squares + total))).tolist(),
        "causal": (100 * np.sqrt(causal / total)).tolist(),
        "milliseconds": 1e3 * float(np.median(spent)),
    }


def keep_largest(C: Array, k: int) -> Array:
    """The k largest codes of every sample; zero elsewhere."""
    kept, places = np.zeros_like(C), np.argsort(-np.abs(C), axis=1)[:, :k]
    np.put_along_axis(kept, places, np.take_along_axis(C, places, axis=1), axis=1)
    return kept


def by_products(Y: Array, D: Array) -> Array:
    """What orthogonal atoms leave out."""
    falling = -np.sort(-((Y @ D.T) ** 2), axis=1)
    return np.array([falling[:, k:].sum() for k in KEPT])


def by_learner(learner: Any, Y: Array, D: Array) -> Array:
    """What the largest of its codes leave out."""
    C = learner.codes(Y, D)
    return np.array([np.sum((Y - keep_largest(C, k) @ D) ** 2) for k in KEPT])


def learned(name: str, n_batches: int) -> Row:
    """A model of the library; those as published start from a dictionary, at t = 1."""
    options, Y = MODELS[name], filled()
    model = OnlineOrthogonalDictionary(random_state=0, verbose=0, n_jobs=1, **options)
    learner = model._plan(Y.shape[1])[0].method.learner
    left = by_products if learner.orthogonal else partial(by_learner, learner)
    if "solver" in options:
        D = learner.start(Y[:FIRST], np.ones(FIRST), np.random.default_rng(0))
        model.set_params(init=D)
    else:
        D = model.partial_fit(Y[:FIRST]).components_
    return through(Y, D, lambda batch: model.partial_fit(batch).components_, left, n_batches)


def principal(n_batches: int) -> Row:
    """Principal directions with a half-life; each sample is discounted on its own."""
    Y = filled()
    f, S = 0.5 ** (1 / HALF_LIFE), np.zeros((Y.shape[1],) * 2)

    def step(batch: Array) -> Array:
        nonlocal S
        weight = f ** np.arange(len(batch) - 1, -1, -1)
        S = f ** len(batch) * S + (batch * weight[:, None]).T @ batch
        return principal_directions(S)

    return through(Y, step(Y[:FIRST]), step, by_products, n_batches)


def by_spams(weight: float, pursuit: bool, n_batches: int) -> Row:
    """The toolbox of the paper on (23), with ½; atoms in columns, as SPAMS has them.

    Codes by its lasso and cut to η₀, as in the paper, or by orthogonal matching pursuit.
    """
    import spams

    Y = filled()
    common = {"lambda1": weight, "mode": 2, "numThreads": 1, "verbose": False, "clean": False}
    start = polar(np.random.default_rng(0).standard_normal((Y.shape[1],) * 2))

    def trained(rows: Array, **more: Any) -> Any:
        return spams.trainDL(
            np.asfortranarray(rows.T), return_model=True, batchsize=len(rows), **more, **common
        )

    D, state = trained(Y[:FIRST], D=np.asfortranarray(start), iter=20)

    def step(batch: Array) -> Array:
        nonlocal D, state
        D, state = trained(batch, model=state, D=D, iter=1)
        return np.asarray(D)

    def left(Y: Array, D: Array) -> Array:
        data, atoms = np.asfortranarray(Y.T), np.asfortranarray(D)
        if pursuit:
            codes = [spams.omp(data, atoms, L=k, numThreads=1).toarray().T for k in KEPT]
        else:
            C = spams.lasso(data, D=atoms, lambda1=weight, mode=2, numThreads=1).toarray().T
            codes = [keep_largest(C, k) for k in KEPT]
        return np.array([np.sum((Y - C @ D.T) ** 2) for C in codes])

    return {"lambda": weight, **through(Y, np.asarray(D), step, left, n_batches)}


# -------------------------------------------------------------------------- compression


def three_sparse(n: int, N: int = 12) -> Array:
    """Rows that are three atoms of a random orthogonal dictionary each."""
    rng = np.random.default_rng(0)
    C = rng.standard_normal((n, N)) * (rng.random((n, N)).argsort(axis=1) < 3)
    return C @ random_orthogonal(N, rng)


def sent(codec: SensorCodec, Y: Array) -> Row:
    """Bytes of all packets, and the error of what the cloud has."""
    encoder, decoder, rows = codec.encoder(Y.shape[1]), codec.decoder(), []
    size = 6 if codec.mode == "paper" else 256
    with clock() as spent:
        for at in range(0, len(Y), size):
            for packet in encoder.encode(Y[at : at + size]):
                result = decoder.decode(packet)
                assert result.problem is None
                rows += [] if result.rows is None else [result.rows]
    error = np.sqrt(np.nansum((np.vstack(rows) - Y) ** 2) / np.nansum(Y**2))
    return {
        "bytes": sum(encoder.n_bytes_.values()),
        "dictionary bytes": encoder.n_bytes_["dictionary"],
        "dictionaries": encoder.n_packets_["dictionary"],
        "error": float(error),
        "seconds": spent.wall,
    }


def compressed(Y: Array, eta: int, threshold: float) -> Row:
    """The scheme of the paper in both readings, its count, and ours at the error that it has."""
    paper = partial(SensorCodec, error=threshold, n_nonzero=eta, mode="paper")
    found = {
        "the cloud's dictionary codes": sent(paper(), Y),
        "angles of 12 bits": sent(paper(angle_bits=12), Y),
    }
    error = found["the cloud's dictionary codes"]["error"]
    found["ours at that error"] = sent(SensorCodec(error=max(error, 1e-9)), Y)
    return {
        "values as doubles": 8 * Y.size,
        "by the paper's count": 8 * eta * len(Y),
        "ways": found,
    }


def airly(eta: int, threshold: float, n_rows: int) -> Row:
    return compressed(readings()[:n_rows], eta, threshold)


# --------------------------------------------------------------------------------- time


class PlainNumpy:
    """Algorithm 2, two SVDs a step: what the published method costs without this library."""

    def __init__(self, D: Array) -> None:
        self.D, self.G, self.t = D, np.zeros(D.shape), 0

    def partial_fit(self, Y: Array) -> None:
        """One step."""
        self.t += 1
        rho, gamma = 4 * (self.t + 1) ** -0.5, 2 * (self.t + 2) ** -0.75
        C = Y @ self.D.T
        self.G = (1 - rho) * self.G - rho * 3 / len(Y) * (np.abs(C) * C).T @ Y
        U, _, Vt = np.linalg.svd(-self.G)
        U, _, Vt = np.linalg.svd((1 - gamma) * self.D + gamma * U @ Vt)
        self.D = U @ Vt


class LearnerAlone:
    """What a model does with a batch, without checks of input and without a history."""

    def __init__(self, model: OnlineOrthogonalDictionary) -> None:
        method, state = model._plan(len(model.components_))[0].method, model._state
        self.learner, self.forgetting = method.learner, method.forgetting
        self.D, self.statistics = state.D, state.statistics
        self.step, self.seen = state.n_steps, state.weight_seen

    def partial_fit(self, Y: Array) -> None:
        """One step."""
        n = float(len(Y))
        self.step, self.seen = self.step + 1, self.seen + n
        progress = Progress(self.step, n, self.seen, self.forgetting(n, self.seen))
        sums = self.learner.summarise(self.statistics, self.D, Y, np.ones(len(Y)))
        self.D, self.statistics = self.learner.update(self.statistics, sums, self.D, progress)


def _learn_block(model: Any, block: list[Array]) -> None:
    for batch in block:
        model.partial_fit(batch)


def times(N: int, n_blocks: int, size: int) -> Row:
    """Milliseconds of Algorithm 2 in plain NumPy, and the ratio of every method to it.

    Six samples a step: readings (N = 56), or Gaussian samples with a decaying spectrum. Steps are
    timed in blocks, in turns, as dictionaries do not turn at every one.
    """
    rng = np.random.default_rng(0)
    if N == 56:
        data = filled()
    else:
        data = rng.standard_normal((BATCH * size * n_blocks + N, N)) * np.arange(1, N + 1) ** -0.5
        data = data @ random_orthogonal(N, rng)
    first = max(FIRST, N)
    models: dict[str, Any] = {"plain NumPy": PlainNumpy(np.eye(N))}
    for name, options in MODELS.items():
        if name.startswith("AODL") and (N > 56 or name != "AODL, λ = 1"):
            continue
        model = OnlineOrthogonalDictionary(
            random_state=0, verbose=0, n_jobs=1, init="pca", **options
        ).partial_fit(data[:first])
        models[f"{name}, the step"] = LearnerAlone(model)
        models[f"{name}, partial_fit"] = model
    starts = range(first, first + BATCH * size * n_blocks, BATCH * size)
    blocks = [[data[s + BATCH * i :][:BATCH] for i in range(size)] for s in starts]
    jobs = {name: partial(_learn_block, model) for name, model in models.items()}
    spent: dict[str, list[float]] = {name: [] for name in models}
    for name, _, _, now in interleaved(jobs, blocks):
        spent[name].append(now.wall / size)
    base = np.array(spent.pop("plain NumPy"))
    ratios = {name: float(np.median(np.array(seconds) / base)) for name, seconds in spent.items()}
    return {"plain NumPy, milliseconds": 1e3 * float(np.median(base)), "ratios": ratios}
