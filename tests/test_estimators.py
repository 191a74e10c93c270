"""Every promise on every estimator and solver, and what only these estimators do."""

import pytest

from thresher.estimators import OnlineRobustNMF, RobustNMF
from thresher.testing import checks_for

ESTIMATORS = [
    OnlineRobustNMF(),
    OnlineRobustNMF(outlier_weight="mad"),
    RobustNMF(),
]


def _cases():
    for estimator in ESTIMATORS:
        for check in checks_for(estimator):
            yield pytest.param(estimator, check, id=f"{estimator}-{check.__name__}")


@pytest.mark.parametrize(("estimator", "check"), list(_cases()))
def test_promise(estimator, check):
    check(estimator)
