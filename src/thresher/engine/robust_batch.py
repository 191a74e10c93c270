"""The batch methods of paper A (supplement S-2), as published, for the second loop."""

from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from thresher.encoding import Block, ProjectedGradient
from thresher.engine.batch import BatchProblem
from thresher.engine.pool import Pool
from thresher.linalg import Array
from thresher.losses import Envelope
from thresher.sets import Reals


@dataclass
class BatchGradient:
    """BPGD, (S-8)–(S-10): one projected gradient step for codes C and dictionary D in turn.

    In our notation, with ``η₁ = κ₁/‖D‖₂²`` and ``η₂ = κ₂/‖CᵀC‖_F``::

        C ← [C − η₁(C D + R − X)Dᵀ]₊     R ← prox_φ(X − C D)     D ← Π(D − η₂Cᵀ(C D + R − X))

    The first step takes the R of the round before, which the step of D has left behind: so
    the dictionary that R was made with is kept, and no outliers are. R starts at zero.
    """

    problem: BatchProblem
    D: Array
    C: Array
    pool: Pool
    solver: ProjectedGradient
    _made_with: Array | None = field(default=None, init=False)
    """The dictionary of R; None while R is zero."""

    def improve_codes(self) -> None:
        """(S-8); then R belongs to the new codes and the current dictionary, (S-9)."""
        coding = self.problem.coding(self.D)
        self.solver.prepare(coding)

        def work(rows: slice) -> None:
            X, weight = self.problem.load(rows)
            block = Block(coding, X, weight)
            state = self.solver.start(block, self.C[rows])
            state["R"] = self._outliers(X, self.C[rows], weight)
            self.solver.steps(block, state, 1)
            self.C[rows] = state["C"]

        self.pool.map(work, self.problem.blocks())
        self._made_with = self.D

    def improve_dictionary(self) -> None:
        """(S-10): one step of the learner, whose outliers are those of (S-9)."""
        method, coding = self.problem.method, self.problem.coding(self.D)

        def work(rows: slice) -> Any:
            X, weight = self.problem.load(rows)
            fit = coding.fit(X, self.C[rows], weight)
            return method.learner.summarise(fit, self.problem.sample_weight[rows])

        sums = reduce(add, self.pool.map(work, self.problem.blocks()))
        nothing, free = method.learner.empty(*self.D.shape), self.problem.free(len(self.D))
        regulariser = method.dictionary_regulariser
        self.D, _, _ = method.learner.learn(nothing, sums, self.D, regulariser, free)

    def change_support(self, seed: int) -> bool:
        """Never: as published."""
        return False

    def objective(self) -> float:
        """The objective of (S-7) at (C, R, D), per sample: it never rises."""
        coding = self.problem.coding(self.D)

        def work(rows: slice) -> Array:
            X, weight = self.problem.load(rows)
            C = self.C[rows]
            fit = coding.fit(X, C, weight, self._outliers(X, C, weight))
            return fit.values() + coding.regulariser.value(C)

        losses = np.concatenate(self.pool.map(work, self.problem.blocks()))
        return self.problem.mean(losses, self.D)

    def certificate(self) -> float:
        """Of the first few codes."""
        return self.problem.certificate(self.D, self.C)

    def _outliers(self, X: Array, C: Array, weight: Array | None) -> Array:
        if self._made_with is None:
            return np.zeros_like(X)
        return self.problem.loss.outliers(X, C @ self._made_with, weight)


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
    rho_1: float = 1.0
    rho_2: float = 1.0
    rho_3: float = 1.0
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
        if self.weight is not None:  # whatever stands at a missing entry has no influence
            self.R = np.where(self.weight > 0, self.R, self.X - self.H @ self.W)
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
        rho_1, rho_2, X, loss = self.rho_1, self.rho_2, self.X, self.envelope
        eye = np.eye(len(self.W), dtype=X.dtype)
        right = (X - self.R) @ self.W.T + rho_1 * self.U - self.A
        self.H = np.linalg.solve(self.W @ self.W.T + rho_1 * eye, right.T).T
        residual = X - self.H @ self.W
        V = (rho_2 * self.Q + residual - self.B) / (1 + rho_2)
        R = loss.penalty.prox(self._seen(V), 1 / (1 + rho_2), Reals())
        self.R = R if self.weight is None else np.where(self.weight > 0, R, residual)
        self.U = self.problem.method.code_regulariser.prox(self.H + self.A / rho_1, 1 / rho_1)
        Q = loss.region.project(self.R + self.B / rho_2)
        self.Q = Q if self.weight is None else np.where(self.weight > 0, Q, self.R)
        self.A = self.A + rho_1 * (self.H - self.U)
        self.B = self.B + rho_2 * (self.R - self.Q)

    def improve_dictionary(self) -> None:
        """(S-14) and the copy and dual of the dictionary, for the atoms that are free."""
        rho, free = self.rho_3, self.problem.free(len(self.Psi))
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

    def change_support(self, seed: int) -> bool:
        """Never: as published."""
        return False

    def objective(self) -> float:
        """The objective of (S-7) at the copies, per sample."""
        fit = self.envelope.value_with(self.X, self.U @ self.Psi, self._seen(self.Q), self.weight)
        return self.problem.mean(fit + self.problem.method.code_regulariser.value(self.U), self.Psi)

    def certificate(self) -> float:
        """Of the first few codes."""
        return self.problem.certificate(self.D, self.C)

    def _seen(self, V: Array) -> Array:
        return V if self.weight is None else np.where(self.weight > 0, V, 0)
