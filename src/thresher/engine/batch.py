"""Batch methods of paper A (supplement S-2) for the second loop."""

from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.encoding import BlockEncoder, CodingProblem
from thresher.engine.method import OnlineMethod
from thresher.engine.pool import Pool
from thresher.learning import Learner
from thresher.linalg import Array
from thresher.losses import Envelope, Loss
from thresher.sets import Reals
from thresher.streams import Batch

# By judgement: steps of a learner, each more cautious, before a dictionary stays as it is, and the
# rows whose codes a certificate is taken of.
_TRIALS = 4
_CERTIFIED_ROWS = 16


@dataclass
class BatchProblem:
    """All samples with their weights, and the parts of the method: (S-7).

    Samples are loaded block by block, so CSR stays sparse and integers stay small.
    """

    method: OnlineMethod
    batch: Batch
    loss: Loss
    dtype: np.dtype[Any]
    dictionary_loss: Loss | None = None

    def __post_init__(self) -> None:
        ones = np.ones(self.batch.n_samples)
        given = self.batch.sample_weight
        self.sample_weight: Array = ones if given is None else given.astype(np.float64)

    def load(self, rows: slice) -> tuple[Any, Array | None]:
        """A block of samples and the weights of its entries, zero where missing."""
        X, weight, _ = self.method.load(self.batch, rows, self.dtype)
        return X, weight

    def blocks(self) -> list[slice]:
        """Row blocks of fixed size."""
        return list(self.method.blocks(self.batch))

    def coding(self, D: Array) -> CodingProblem:
        """The coding problem on a dictionary."""
        return CodingProblem(D, self.loss, self.method.code_regulariser)

    def learning(self, D: Array) -> CodingProblem:
        """The same as the learner sees it, which may be with a smoothed loss."""
        loss = self.loss if self.dictionary_loss is None else self.dictionary_loss
        return CodingProblem(D, loss, self.method.code_regulariser)

    def mean(self, losses: Array, D: Array) -> float:
        """Weighted mean of the samples' objectives, plus the penalty of the dictionary."""
        total = float(np.dot(self.sample_weight, losses.astype(np.float64)))
        penalty = float(self.method.dictionary_regulariser.value(D).sum())
        return total / float(self.sample_weight.sum()) + penalty

    def certificate(self, D: Array, C: Array) -> float:
        """The worst certificate of the first few codes."""
        some = slice(0, min(_CERTIFIED_ROWS, self.batch.n_samples))
        X, weight = self.load(some)
        return float(self.coding(D).certificate(X, C[some], weight).max())

    def free(self, n_components: int) -> NDArray[np.bool_]:
        """Flags of the atoms that may move."""
        frozen = self.method.frozen
        return np.ones(n_components, dtype=bool) if frozen is None else ~frozen


@dataclass
class ExactAlternation:
    """Codes by an encoder, warm-started and never worsened; dictionary by a learner's step.

    With one proximal gradient step for each half this is BPGD, (S-8)–(S-10); with one
    multiplicative update for each it is that of Lee and Seung and its kin; with an exact encoder
    it is ``auto``. The objective never rises.
    """

    problem: BatchProblem
    D: Array
    C: Array
    encoder: BlockEncoder
    pool: Pool
    cold: bool = False
    """Whether ``C`` is only room for codes, and the first round starts without any."""

    def __post_init__(self) -> None:
        if self.cold:
            self.losses: Array = np.full(len(self.C), np.inf, dtype=self.C.dtype)
        else:
            self._evaluate()

    def improve_codes(self) -> None:
        """Code every block from its last codes; a row that got worse keeps them."""
        coding = self.problem.coding(self.D)
        self.encoder.prepare(coding, self.problem.method.rows(self.problem.batch))

        def work(rows: slice) -> None:
            X, weight = self.problem.load(rows)
            start = None if self.cold else self.C[rows]
            C = self.encoder.encode(coding, X, weight, start).codes
            losses = coding.objective(X, C, weight)
            better = losses < self.losses[rows]
            self.C[rows] = np.where(better[:, None], C, self.C[rows])
            self.losses[rows] = np.where(better, losses, self.losses[rows])

        self.pool.map(work, self.problem.blocks())
        self.cold = False

    def improve_dictionary(self) -> None:
        """Take the learner's step; if the objective rose, a more cautious one, or none."""
        learner, sums = self.problem.method.learner, self._summed()
        D, C, losses, last = self.D, self.C, self.losses, self.objective()
        for _ in range(_TRIALS):
            self._move(learner, sums)
            if self.objective() <= last:
                return
            self.D, self.C, self.losses = D, C, losses
            learner = learner.cautious()

    def _summed(self) -> Any:
        learner, coding = self.problem.method.learner, self.problem.learning(self.D)

        def work(rows: slice) -> Any:
            X, weight = self.problem.load(rows)
            fit = coding.fit(X, self.C[rows], weight)
            return learner.summarise(fit, self.problem.sample_weight[rows])

        return reduce(add, self.pool.map(work, self.problem.blocks()))

    def _move(self, learner: Learner, sums: Any) -> None:
        method, free = self.problem.method, self.problem.free(len(self.D))
        nothing = learner.empty(*self.D.shape)
        D, _, gain = learner.learn(nothing, sums, self.D, method.dictionary_regulariser, free)
        self.D = D
        if (gain != 1).any():
            self.C = self.C * gain
        self._evaluate()

    def objective(self) -> float:
        """Weighted mean over samples, plus the penalty of the dictionary."""
        return float("inf") if self.cold else self.problem.mean(self.losses, self.D)

    def certificate(self) -> float:
        """Of the first few codes."""
        return self.problem.certificate(self.D, self.C)

    def _evaluate(self) -> None:
        coding = self.problem.coding(self.D)

        def work(rows: slice) -> Array:
            X, weight = self.problem.load(rows)
            return coding.objective(X, self.C[rows], weight)

        self.losses = np.concatenate(self.pool.map(work, self.problem.blocks()))


@dataclass
class BatchADMM:
    """BADMM, (S-12)–(S-20): codes H, outliers R and dictionary W with copies U, Q, Ψ and duals.

    The copies are feasible; they are what the objective sees and what is returned (errata A.5). It
    is the one method that stores the outliers of all samples. Missing entries have free outliers,
    which absorb them.
    """

    problem: BatchProblem
    Psi: Array
    U: Array
    rho: float = 1.0
    Q: Array = field(init=False)
    R: Array = field(init=False)
    H: Array = field(init=False)
    W: Array = field(init=False)

    def __post_init__(self) -> None:
        envelope = self.problem.loss.envelope
        if envelope is None:
            raise ValueError(
                f"badmm splits outliers from the squared loss and cannot use {self.problem.loss}; "
                "use solver='auto'."
            )
        self.envelope: Envelope = envelope
        self.X, self.weight = self.problem.load(slice(0, self.problem.batch.n_samples))
        if self.weight is not None and not np.isin(self.weight, (0, 1)).all():
            raise ValueError("badmm knows missing entries but no other weights; use solver='auto'.")
        self.H, self.W = self.U.copy(), self.Psi.copy()
        self.R = np.zeros_like(self.X)
        self.Q = self.R.copy()
        self.A, self.B, self.Delta = (np.zeros_like(Z) for Z in (self.H, self.R, self.W))

    @property
    def D(self) -> Array:  # noqa: N802 - the notation
        """The feasible dictionary."""
        return self.Psi

    @property
    def C(self) -> Array:  # noqa: N802 - the notation
        """The feasible codes."""
        return self.U

    def improve_codes(self) -> None:
        """(S-12), (S-13) and the copies and duals of codes and outliers."""
        rho, X, loss = self.rho, self.X, self.envelope
        eye = np.eye(len(self.W), dtype=X.dtype)
        right = (X - self.R) @ self.W.T + rho * self.U - self.A
        self.H = np.linalg.solve(self.W @ self.W.T + rho * eye, right.T).T
        residual = X - self.H @ self.W
        V = (rho * self.Q + residual - self.B) / (1 + rho)
        R = loss.penalty.prox(self._seen(V), 1 / (1 + rho), Reals())
        self.R = R if self.weight is None else np.where(self.weight > 0, R, residual)
        self.U = self.problem.method.code_regulariser.prox(self.H + self.A / rho, 1 / rho)
        Q = loss.region.project(self.R + self.B / rho)
        self.Q = Q if self.weight is None else np.where(self.weight > 0, Q, self.R)
        self.A = self.A + rho * (self.H - self.U)
        self.B = self.B + rho * (self.R - self.Q)

    def improve_dictionary(self) -> None:
        """(S-14) and the copy and dual of the dictionary, for the atoms that are free."""
        rho, free = self.rho, self.problem.free(len(self.Psi))
        sample = self.problem.sample_weight.astype(self.H.dtype)[:, None]
        sample = sample / sample.mean()
        gram = (self.H * sample).T @ self.H + rho * np.eye(self.H.shape[1], dtype=self.H.dtype)
        cross = (self.H * sample).T @ (self.X - self.R)
        W = np.linalg.solve(gram, cross - self.Delta + rho * self.Psi)
        step = len(self.X) / rho  # the penalty is relative to the mean loss, this is the sum
        Psi = self.problem.method.dictionary_regulariser.prox(W + self.Delta / rho, step)
        W[~free], Psi[~free] = self.Psi[~free], self.Psi[~free]
        self.W, self.Psi = W, Psi
        self.Delta = self.Delta + rho * (W - Psi)

    def objective(self) -> float:
        """The objective of (S-7) at the copies, per sample."""
        fit = self.envelope.value_with(self.X, self.U @ self.Psi, self._seen(self.Q), self.weight)
        return self.problem.mean(fit + self.problem.method.code_regulariser.value(self.U), self.Psi)

    def certificate(self) -> float:
        """Of the first few codes."""
        return self.problem.certificate(self.D, self.C)

    def _seen(self, V: Array) -> Array:
        return V if self.weight is None else np.where(self.weight > 0, V, 0)
