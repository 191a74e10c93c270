"""The methods of paper A's tables and pictures, all with the same atoms, batches and clock.

λ = 1/√F and M = 1 for all that have them (VII-C). OPGD, OADMM, BPGD and BADMM are those of the
paper, ONMF is ``OnlineNMF(solver="ol_guan")``. ORPCA is `OnlineRobustPCA` with the plain average,
the batches of the others, and λ₁ = λ₂ = 1/√F. Both ``auto`` have their defaults. One pass online;
batch methods until the objective settles to 1e-4, the stop of the library (the paper names none),
or until their time is up.

(48) is about the codes that an online method had when a sample came by, and its last dictionary.
An encoder that keeps what it found has them; keeping is outside the clock.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from benchmarks.common import clock
from threadpoolctl import threadpool_limits

from thresher import OnlineNMF, OnlineRobustNMF, OnlineRobustPCA, RobustNMF
from thresher.engine import Step
from thresher.linalg import Array

ONLINE = ("OADMM", "OPGD", "ONMF", "ORPCA", "online auto")
BATCH = ("BADMM", "BPGD", "batch auto")
METHODS = ONLINE[:2] + BATCH[:2] + ONLINE[2:4] + (ONLINE[4], BATCH[2])
OURS = (ONLINE[4], BATCH[2])
TAU = 5  # the batch of the published online methods


class KeptCodes:
    """An encoder that keeps the codes of the batch that it was last prepared for."""

    def __init__(self, encoder: Any) -> None:
        self.encoder = encoder
        self.blocks: list[Array] = []

    def prepare(self, problem: Any, *rows: Any) -> Any:
        """Begin a batch; return the function that codes its blocks."""
        self.blocks = []
        encode = self.encoder.prepare(problem, *rows)

        def encode_and_keep(*arguments: Any) -> Any:
            encoding = encode(*arguments)
            self.blocks.append(encoding.codes)
            return encoding

        return encode_and_keep

    def encode(self, problem: Any, *arguments: Any) -> Any:
        """Codes of a block that is coded on its own."""
        return self.encoder.encode(problem, *arguments)

    def codes(self, count: int) -> Array:
        """Codes of the batch; what was coded after it had another purpose."""
        return np.concatenate(self.blocks)[:count]


class KeepsCodes:
    """A model whose encoder keeps its codes."""

    kept: KeptCodes | None = None

    def _plan(self, n_components: int, in_order: bool = True) -> Any:
        plan: Any = super()._plan(n_components, in_order)  # type: ignore[misc]
        (only,) = plan
        if self.kept is None:  # plans are made more than once, with the same encoder
            self.kept = KeptCodes(only.method.encoder)
        return (replace(only, method=replace(only.method, encoder=self.kept)),)


class KeptRobustNMF(KeepsCodes, OnlineRobustNMF):
    """`OnlineRobustNMF` that keeps its codes."""


class KeptNMF(KeepsCodes, OnlineNMF):
    """`OnlineNMF` that keeps its codes."""


class KeptRobustPCA(KeepsCodes, OnlineRobustPCA):
    """`OnlineRobustPCA` that keeps its codes."""


def made(method: str, K: int, n_features: int, seed: int, **options: Any) -> Any:
    """The model of a method."""
    weight = n_features**-0.5
    robust = {"outlier_weight": weight, "outlier_bound": 1.0}
    common = {"random_state": seed, "n_jobs": 1, "verbose": 0, **options}
    if method in BATCH:
        solver = method.lower() if method not in OURS else "auto"
        return RobustNMF(K, solver=solver, **robust, **common)
    common |= {"n_passes": 1} | ({} if method in OURS else {"batch_size": TAU})
    if method == "ONMF":
        return KeptNMF(K, solver="ol_guan", **common)
    if method == "ORPCA":
        return KeptRobustPCA(K, outlier_weight=weight, ridge=weight, forgetting=None, **common)
    solver = method.lower() if method not in OURS else "auto"
    return KeptRobustNMF(K, solver=solver, **robust, **common)


@dataclass
class Codes:
    """A callback that keeps the codes of every step, and which samples they belong to."""

    X: Array
    spent: float = 0.0
    found: list[tuple[list[int], Array]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.place = {hash(row.tobytes()): n for n, row in enumerate(self.X)}

    def __call__(self, step: Step) -> None:
        """Note a step; samples that are equal to the bit are the same to (48)."""
        with clock() as spent:
            rows = [self.place[hash(row.tobytes())] for row in step.samples]
            self.found.append((rows, step.model.kept.codes(len(rows))))
        self.spent += spent.processor

    def reconstructions(self, D: Array, unit: float) -> Iterator[tuple[list[int], Array]]:
        """Places and reconstructions by (48), a batch at a time."""
        for rows, codes in self.found:
            yield rows, unit * codes @ D


@dataclass
class Learned:
    """A model that has learned, its processor seconds, and its codes if it is an online one."""

    model: Any
    seconds: float
    codes: Codes | None

    def reconstructed(self, X: Array) -> Array:
        """Samples without outliers: coded anew, to the model's tolerance, on what it learned."""
        low_rank: Array = (
            self.model.separate(X).low_rank
            if hasattr(self.model, "separate")
            else self.model.inverse_transform(self.model.transform(X))
        )
        return low_rank

    def past_error(self, clean: Array, stream: Array) -> float:
        """The mean square of (48); ``clean[stream]`` are the samples without outliers."""
        if self.codes is None:
            return float("nan")
        total, count = 0.0, 0
        unit = self.model._state.unit
        for rows, fitted in self.codes.reconstructions(self.model.components_, unit):
            total += float(np.sum((clean[stream[rows]] - fitted) ** 2))
            count += fitted.size
        return total / count


class Limit:
    """A callback that ends a fit after some seconds of the processor, however busy it is."""

    def __init__(self, seconds: float) -> None:
        self.end = time.process_time() + seconds

    def __call__(self, step: Step) -> bool:
        """Look at the clock."""
        return time.process_time() > self.end


def learned(method: str, X: Array, K: int, seed: int, limit: float = np.inf) -> Learned:
    """One method on a stream of samples in random order, on one thread.

    ``limit`` is in seconds of the processor; a method that comes to it is cut off.
    """
    codes = Codes(X) if method in ONLINE else None
    callbacks: list[Any] = [codes] if codes is not None else []
    with threadpool_limits(1):
        warm_up(method, X[:20])
        callbacks.append(Limit(limit))
        model = made(method, K, X.shape[1], seed, callbacks=callbacks)
        with clock() as spent:
            model.fit(X)
    seconds = spent.processor - (0.0 if codes is None else codes.spent)
    return Learned(model, seconds, codes)


def warm_up(method: str, X: Array) -> None:
    """Compile what is compiled, outside the clock."""
    options = {"max_iter": 2} if method in BATCH else {}
    made(method, 3, X.shape[1], 0, **options).fit(X)
