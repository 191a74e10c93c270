"""The loop of paper B's detectors for the second loop: dictionary first, then codes."""

from dataclasses import dataclass

import numpy as np

from thresher.engine.batch import ExactAlternation


@dataclass
class DictionaryFirst(ExactAlternation):
    """Dictionary and codes in turns, each solved anew: Algorithm 4 of paper B.

    A round moves the dictionary from where it is, and then finds all codes, from zero: the
    objective of a round is that of a dictionary and its own codes. Codes that are given serve the
    first dictionary alone. Nothing is kept for being better, so the objective may rise.
    """

    def __post_init__(self) -> None:
        if self.cold:
            self.cold = False
            self._code()
        else:
            self._evaluate()

    def improve_codes(self) -> None:
        """They are those of the dictionary already."""

    def improve_dictionary(self) -> None:
        """The learner's step, and codes for it."""
        method = self.problem.method
        self.D, _, _ = method.learner.learn(
            method.learner.empty(*self.D.shape),
            self._summed(),
            self.D,
            method.dictionary_regulariser,
            self.problem.free(len(self.D)),
        )
        self._code()

    def _code(self) -> None:
        coding = self.problem.coding(self.D)
        self.encoder.prepare(coding, self.problem.method.rows(self.problem.batch))

        def work(rows: slice) -> None:
            X, weight = self.problem.load(rows)
            self.C[rows] = self.encoder.encode(coding, X, weight).codes

        self.C = np.zeros_like(self.C)
        self.pool.map(work, self.problem.blocks())
        self._evaluate()
