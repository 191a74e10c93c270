"""What robust PCA and its kin share: samples, atoms and codes of either sign."""

from typing import Any

from thresher.estimators.robust import RobustModel
from thresher.penalties import Tikhonov
from thresher.sets import Reals


class BasisModel(RobustModel):
    """A robust model without any constraint: outliers are set aside entry by entry.

    Codes cost ``½‖c‖²``. That is no loss of generality: a product ``cD`` is the same if codes are
    divided and atoms multiplied by the same number, so the size of the atoms says how much a
    direction may be used.
    """

    solver = "auto"
    outlier_penalty = "l1"
    outlier_sign = "free"
    outlier_bound = None
    code_set = Reals()
    code_penalty: Any = Tikhonov(1.0)
    dictionary_set = Reals()
    dictionary_penalty = None
    frozen_atoms = None
    scale_samples = None
    _nonnegative = False
