"""What the models of paper E share: the divergence, and the method that suits it."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thresher.encoding import AutoEncoder, BlockEncoder
from thresher.engine import OnlineMethod
from thresher.estimators.base import DictionaryModel
from thresher.estimators.registry import (
    frozen_mask,
    named_atoms,
    named_divergence,
    named_regulariser,
)
from thresher.estimators.solvers import DivergenceSolver
from thresher.learning import BlockDescent, Forgetting, QuadraticLearner, RatioLearner
from thresher.losses import Loss, Mahalanobis
from thresher.penalties import Constrained, ElasticNet
from thresher.sets import Box, CoveredBox


class DivergenceModel(DictionaryModel):
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
    ) -> OnlineMethod:
        """The method that the parameters describe."""
        divergence = named_divergence(self.divergence, self.divergence_parameter)
        loss = divergence.loss(1.0)
        solver.check(loss)
        codes = named_regulariser("code", self.code_set, self.code_penalty)
        chosen = self.dictionary_set
        if solver.covered and (chosen is None or chosen == "auto"):
            chosen = CoveredBox()
        atoms = named_atoms(chosen, self.dictionary_penalty, codes)
        learner = solver.learner
        if learner == "auto":
            learner = quadratic_learner(loss)
        elif learner == "multiplicative":
            learner = majorising_learner(loss, codes)
        assert not isinstance(learner, str)
        if isinstance(learner, RatioLearner):
            learner.check(atoms)
        return OnlineMethod(
            encoder=solver.encoder,
            loss=divergence.loss,
            learner=learner,
            dictionary_loss=divergence.dictionary_loss,
            outlier_weight=divergence.threshold,
            code_regulariser=codes,
            dictionary_regulariser=atoms,
            forgetting=forgetting,
            frozen=frozen_mask(self.frozen_atoms, n_components, atoms.region),
            keep_sparse=solver.sparse and is_plain(codes) and _knows_zeros(loss, codes),
            revive=solver.learner == "auto",
            own_unit=solver.learner != "auto",
        )

    def _check_gaps(self, X: Any) -> None:
        loss = named_divergence(self.divergence, self.divergence_parameter).loss(1.0)
        values = X.data if hasattr(X, "indptr") else X
        if np.isnan(np.sum(values, dtype=np.float64)):
            loss.check_weight(np.zeros((1, 1)))  # a gap is an entry of weight zero

    def _exact_encoder(self) -> BlockEncoder:
        return AutoEncoder(float(self.tol), self.max_iter)

    @property
    def loss_(self) -> Loss:
        """The loss in use; a Huber threshold that comes from the data is in it."""
        check_is_fitted(self, "components_")
        self._check_goes_on()
        threshold = self._fitted_method().threshold(self._state) * self._state.unit
        return self._method(len(self._state.D)).loss(threshold)


def quadratic_learner(loss: Loss) -> QuadraticLearner:
    """The learner for all losses that have no majoriser, and for dense data under any."""
    return QuadraticLearner(BlockDescent(), sharp=not isinstance(loss, Mahalanobis))


def majorising_learner(loss: Loss, codes: Constrained, prior: float = 0.0) -> RatioLearner:
    """The multiplicative step of a divergence; an exponent that is not proven is one.

    The batch loop halves it where the objective would rise.
    """
    a, b = (1.0, 0.0) if loss.powers is None else loss.powers
    return RatioLearner(a, b, rescale=_is_free(codes), prior=prior)


def has_majoriser(loss: Loss, atoms: Constrained) -> bool:
    """Whether the divergence has a proven majoriser and no bounded curvature.

    Its step must know the set of the atoms, too: for others the quadratic surrogate serves.
    """
    unbounded = loss.powers is not None and loss.curvature == float("inf")
    return unbounded and RatioLearner.knows(atoms)


def _is_free(codes: Constrained) -> bool:
    """Whether codes can be multiplied by any positive number at no cost."""
    penalty, region = codes.penalty, codes.region
    return (
        isinstance(region, Box)
        and region.lower == 0
        and region.upper == float("inf")
        and isinstance(penalty, ElasticNet)
        and penalty.l1 == penalty.l2 == 0
    )


def _knows_zeros(loss: Loss, codes: Constrained) -> bool:
    """Whether sparse rows have an encoder: kinks under a curved penalty have none."""
    return loss.smooth or (isinstance(codes.penalty, ElasticNet) and codes.penalty.l2 == 0)


def is_plain(codes: Constrained) -> bool:
    """Whether codes are nonnegative under an elastic net: what sparse encoders know."""
    region = codes.region
    return (
        isinstance(region, Box)
        and region.lower == 0
        and region.upper == float("inf")
        and isinstance(codes.penalty, ElasticNet)
    )
