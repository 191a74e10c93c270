"""The scikit-learn classes, and how to save them."""

from thresher.estimators.batch_nmf import BatchNMF
from thresher.estimators.checkpoint import Checkpoint
from thresher.estimators.godec import GoDec
from thresher.estimators.l1_dictionary import L1Dictionary
from thresher.estimators.manhattan_nmf import ManhattanNMF
from thresher.estimators.online_l1_dictionary import OnlineL1Dictionary
from thresher.estimators.online_nmf import OnlineNMF
from thresher.estimators.online_orthogonal import OnlineOrthogonalDictionary
from thresher.estimators.online_robust_nmf import OnlineRobustNMF
from thresher.estimators.online_robust_pca import OnlineRobustPCA
from thresher.estimators.outlier_mixin import Separation
from thresher.estimators.robust_nmf import RobustNMF
from thresher.estimators.robust_pca import RobustPCA
from thresher.estimators.saving import is_model, load, save
from thresher.estimators.symmetric import SymmetricManhattanNMF

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
