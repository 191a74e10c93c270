"""One quick estimator of every class that learns from a matrix, for tests that run over all."""

import pytest

from thresher import (
    BatchNMF,
    GoDec,
    L1Dictionary,
    ManhattanNMF,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    OnlineRobustPCA,
    RobustNMF,
    RobustPCA,
)

ESTIMATORS = [
    OnlineRobustNMF(n_passes=2),
    RobustNMF(max_iter=5),
    OnlineNMF(divergence="kl", n_passes=2),
    BatchNMF(max_iter=5),
    OnlineL1Dictionary(n_passes=1),
    L1Dictionary(max_iter=3),
    ManhattanNMF(max_iter=5),
    OnlineOrthogonalDictionary(n_passes=2),
    OnlineRobustPCA(n_passes=2),
    RobustPCA(max_iter=50),
    GoDec(max_iter=10),
]
ONLINE = [estimator for estimator in ESTIMATORS if hasattr(estimator, "partial_fit")]

each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
each_online = pytest.mark.parametrize("estimator", ONLINE, ids=lambda e: type(e).__name__)
