"""The scikit-learn classes, and how to save them."""

from thresher.estimators.checkpoint import Checkpoint
from thresher.estimators.divergence_nmf import BatchNMF, OnlineNMF
from thresher.estimators.l1_dictionary import L1Dictionary, OnlineL1Dictionary
from thresher.estimators.low_rank import GoDec, OnlineRobustPCA, RobustPCA
from thresher.estimators.manhattan_nmf import ManhattanNMF, SymmetricManhattanNMF
from thresher.estimators.online_orthogonal import OnlineOrthogonalDictionary
from thresher.estimators.outlier_mixin import Separation
from thresher.estimators.robust_nmf import OnlineRobustNMF, RobustNMF
from thresher.estimators.saving import is_model, load, save

__all__ = [
    "BatchNMF",
    "Checkpoint",
    "GoDec",
    "L1Dictionary",
    "ManhattanNMF",
    "OnlineL1Dictionary",
    "OnlineNMF",
    "OnlineOrthogonalDictionary",
    "OnlineRobustNMF",
    "OnlineRobustPCA",
    "RobustNMF",
    "RobustPCA",
    "Separation",
    "SymmetricManhattanNMF",
    "is_model",
    "load",
    "save",
]
