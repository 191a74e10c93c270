"""What the models of paper E share: the divergence, and the method that suits it."""

from typing import Any

import numpy as np

from thresher.encoding import can_stay_sparse
from thresher.engine import Method
from thresher.estimators.dictionary_estimator import DictionaryEstimator
from thresher.estimators.divergence_plan import quadratic_learner, ratio_learner, refuse_learner
from thresher.estimators.registry import (
    check_signs,
    frozen_mask,
    named_atoms,
    named_codes,
    named_divergence,
)
from thresher.learning import Forgetting, Learner
from thresher.linalg import is_only_stored
from thresher.losses import Loss
from thresher.published.method import PublishedMethod
from thresher.solvers import DivergenceSolver


class DivergenceModel(DictionaryEstimator):
    """A dictionary model whose loss is a divergence by name, or any `Loss`."""

    divergence: Any
    divergence_parameter: Any
    code_set: Any
    code_penalty: Any
    dictionary_set: Any
    dictionary_penalty: Any
    frozen_atoms: Any
    solver: Any

    def _parts(
        self,
        n_components: int,
        solver: DivergenceSolver,
        forgetting: Forgetting,
    ) -> Method:
        """The method that the parameters describe."""
        divergence = named_divergence(self.divergence, self.divergence_parameter)
        if solver.published:
            divergence = divergence.without_smoothing()
        loss = divergence.loss(1.0)
        codes = named_codes(self.code_set, self.code_penalty)
        atoms = named_atoms(self.dictionary_set, self.dictionary_penalty, codes, solver.region)
        solver.check(loss, atoms)
        check_signs(loss, codes, atoms)
        learner: Learner = solver.learner or quadratic_learner(loss)
        if solver.multiplicative:
            learner = ratio_learner(loss, codes, exponent=solver.exponent)
            refuse_learner(learner, loss, atoms)
        # Under nonsmooth losses multiplicative updates weigh entries by residuals, zeros too.
        reweighted = not loss.smooth and solver.multiplicative
        kind = PublishedMethod if solver.published else Method
        return kind(
            encoder=solver.encoder,
            loss=divergence.loss,
            learner=learner,
            dictionary_loss=divergence.dictionary_loss,
            outlier_weight=divergence.threshold,
            code_regulariser=codes,
            dictionary_regulariser=atoms,
            forgetting=forgetting,
            frozen=frozen_mask(self.frozen_atoms, n_components, atoms.region),
            keep_sparse=solver.sparse and can_stay_sparse(loss, codes) and not reweighted,
            keep_stored=self.implicit_zeros == "missing" and not solver.published,
        )

    def _check_missing(self, X: Any) -> None:
        values = X.data if hasattr(X, "indptr") else X
        if is_only_stored(X) or np.isnan(np.add.reduce(values, None, np.float64)):
            loss = named_divergence(self.divergence, self.divergence_parameter).loss(1.0)
            loss.check_weight(np.zeros((1, 1)))  # a gap is an entry of weight zero

    @property
    def loss_(self) -> Loss:
        """The loss in use; a Huber threshold that comes from the data is in it."""
        return self.problem().loss
