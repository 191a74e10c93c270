"""The scikit-learn classes, and how to save them."""

from thresher.estimators.batch_nmf import BatchNMF
from thresher.estimators.checkpoint import Checkpoint
from thresher.estimators.online_nmf import OnlineNMF
from thresher.estimators.online_orthogonal import OnlineOrthogonalDictionary
from thresher.estimators.online_robust_nmf import OnlineRobustNMF
from thresher.estimators.robust import Separation
from thresher.estimators.robust_nmf import RobustNMF
from thresher.estimators.saving import load, save

__all__ = [
    "BatchNMF",
    "Checkpoint",
    "OnlineNMF",
    "OnlineOrthogonalDictionary",
    "OnlineRobustNMF",
    "RobustNMF",
    "Separation",
    "load",
    "save",
]
