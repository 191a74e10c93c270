"""The problem that an estimator states, from which a solver builds its method."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.learning import FixedWeight, Forgetting, OutlierWeight, PlainAverage
from thresher.losses import Loss
from thresher.penalties import ElasticNet, Penalty, Regulariser
from thresher.sets import ConvexSet, NonnegativeL2Ball, NonnegativeOrthant


@dataclass(frozen=True)
class Specification:
    """Loss, regularisers and forgetting, as the parameters of an estimator give them.

    Parameters
    ----------
    loss : callable
        Makes the loss from the outlier weight λ.
    code_regulariser : Regulariser
        Penalty and set of the codes.
    dictionary_set : ConvexSet or None
        Set of the atoms; None is the default of the solver.
    dictionary_penalty : Penalty
    outlier_weight : OutlierWeight
        The rule for λ.
    dictionary_loss : callable or None
        Makes a smoothed loss for the dictionary, if the loss is not smooth.
    forgetting : Forgetting or None
        How much the past counts; None is the default of the solver.
    in_order : bool
        Whether samples come in their own order, not in a random one.
    frozen : array of bool or None
        Atoms that never move.
    scale_samples : bool
        Divide each sample by its largest entry first.
    only_stored : bool
        Whether entries that CSR rows do not store are missing.
    """

    loss: Callable[[float], Loss]
    code_regulariser: Regulariser = field(default_factory=Regulariser)
    dictionary_set: ConvexSet | None = None
    dictionary_penalty: Penalty = field(default_factory=ElasticNet)
    outlier_weight: OutlierWeight = field(default_factory=lambda: FixedWeight(1.0))
    dictionary_loss: Callable[[float], Loss] | None = None
    forgetting: Forgetting | None = None
    in_order: bool = True
    frozen: NDArray[np.bool_] | None = None
    scale_samples: bool = False
    only_stored: bool = False

    def parts(self, default_set: ConvexSet | None = None) -> dict[str, Any]:
        """The fields of a `Method` that do not depend on its encoder and learner.

        Without a set of its own, a dictionary takes ``default_set`` or the set that fits the codes:
        codes of any size take the size of the data, and atoms lie in the ℓ2 ball. Where codes are
        bounded, as shares are, atoms take the size, and are only nonnegative; unless codes have a
        penalty, which smaller codes and larger atoms would avoid.
        """
        codes = self.code_regulariser
        region = self.dictionary_set or default_set
        if region is None:
            penalised = not codes.form.is_unpenalised and codes.region.contains_zero
            bounded = not (codes.region.is_cone or penalised)
            region = NonnegativeOrthant() if bounded else NonnegativeL2Ball()
        atoms = Regulariser(self.dictionary_penalty, region)
        _check_signs(self.loss(1.0), codes, atoms)
        if self.frozen is not None and region.rows_share_bound:
            raise ValueError(
                f"Atoms of {region} share one budget, so none of them can be frozen; leave "
                "frozen_atoms out, or use a set such as 'box'."
            )
        return {
            "loss": self.loss,
            "dictionary_loss": self.dictionary_loss,
            "outlier_weight": self.outlier_weight,
            "code_regulariser": codes,
            "dictionary_regulariser": atoms,
            "forgetting": self.forgetting or PlainAverage(),
            "frozen": self.frozen,
            "scale_samples": self.scale_samples,
        }


def _check_signs(loss: Loss, codes: Regulariser, atoms: Regulariser) -> None:
    """Refuse signed codes or atoms under a loss of nonnegative predictions."""
    if not loss.needs_nonnegative_prediction or (codes.form.nonnegative and atoms.form.nonnegative):
        return
    signed = "code_set" if not codes.form.nonnegative else "dictionary_set"
    raise ValueError(
        f"{loss} needs predictions that are not negative, and {signed} allows them; use a set such "
        "as 'nonnegative' there, or a loss such as 'squared_l2'."
    )
