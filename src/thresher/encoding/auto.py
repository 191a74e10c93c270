"""The encoder that `auto` stands for: the fastest exact one for the problem at hand."""

from dataclasses import dataclass, field, replace

import numpy as np

from thresher.encoding.block_admm import BlockADMM
from thresher.encoding.iterate import Certified, Encoder, Encoding, Never
from thresher.encoding.newton import Newton
from thresher.encoding.problem import CodingProblem
from thresher.linalg import Array

# Where there are this many features for each atom, codes of a subsample of the features are an
# excellent start, and cost nearly nothing (measured: docs/encoders.md).
_FEATURES_PER_ATOM = 512
_KEPT_FEATURES_PER_ATOM = 64


@dataclass(frozen=True)
class AutoEncoder:
    """A few rounds of the block encoder, then Newton steps until every row meets ``tol``.

    For very wide samples (F ≥ 512 K) the start comes from a subsample of the features instead.
    Where Newton does not apply (other sets, penalties or losses) the block encoder goes on until
    its certificate holds.
    """

    tol: float = 1e-4
    max_iter: int = 1000
    rounds: int = 5
    block: BlockADMM = field(default_factory=BlockADMM)

    def prepare(self, problem: CodingProblem) -> None:
        """Compute once what the blocks share."""
        problem.dictionary_bound  # noqa: B018 - kept by the problem
        self.block.prepare(problem)
        if self._is_wide(problem):
            self.block.prepare(self._coarse(problem))

    def encode(
        self,
        problem: CodingProblem,
        X: Array,
        weight: Array | None = None,
        start: Array | None = None,
    ) -> Encoding:
        """Find the codes of the rows of a dense block; ``weight`` 0 marks missing entries."""
        if not Newton.applies(problem):
            encoder = Encoder(self.block, Certified(self.tol), self.max_iter)
            return encoder.encode(problem, X, weight, start)
        if start is None and self._is_wide(problem):
            start = self._coarse_codes(problem, X, weight)
        elif start is None:
            few = Encoder(self.block, Never(), self.rounds, certify=False)
            start = few.encode(problem, X, weight).codes
        return Newton(self.tol, self.max_iter).finish(problem, X, weight, start)

    # ------------------------------------------------------------------- details

    @staticmethod
    def _is_wide(problem: CodingProblem) -> bool:
        K, F = problem.D.shape
        return bool(F >= _FEATURES_PER_ATOM * K)

    @staticmethod
    def _stride(problem: CodingProblem) -> int:
        K, F = problem.D.shape
        return int(F // (_KEPT_FEATURES_PER_ATOM * K))

    def _coarse(self, problem: CodingProblem) -> CodingProblem:
        """The problem on every so-manieth feature."""

        def make() -> CodingProblem:
            D = np.ascontiguousarray(problem.D[:, :: self._stride(problem)])
            return replace(problem, D=D)

        coarse: CodingProblem = problem.remember("coarse", make)
        return coarse

    def _coarse_codes(self, problem: CodingProblem, X: Array, weight: Array | None) -> Array:
        stride = self._stride(problem)
        x = np.ascontiguousarray(X[:, ::stride])
        w = None if weight is None else np.ascontiguousarray(weight[:, ::stride])
        coarse = self._coarse(problem)
        few = Encoder(self.block, Never(), self.rounds, certify=False)
        return Newton(1e-3, 20).finish(coarse, x, w, few.encode(coarse, x, w).codes).codes
