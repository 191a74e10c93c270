"""The scikit-learn classes, and how to save them."""

from thresher.estimators.checkpoint import Checkpoint
from thresher.estimators.online_robust_nmf import OnlineRobustNMF
from thresher.estimators.robust import Separation
from thresher.estimators.robust_nmf import RobustNMF
from thresher.estimators.saving import load, save

__all__ = ["Checkpoint", "OnlineRobustNMF", "RobustNMF", "Separation", "load", "save"]
