"""Public checks: what an estimator of this library promises, and how to test it.

``for check in checks_for(estimator): check(estimator)`` runs every promise that applies; with
pytest, parametrise over `checks_for`. A check gets an unfitted estimator and raises
`AssertionError` with a sentence if a promise is broken.
"""

from thresher.testing.checks import SCALE_DEPENDENT_SOLVERS, Check, checks_for
from thresher.testing.damage import damaged

__all__ = ["SCALE_DEPENDENT_SOLVERS", "Check", "checks_for", "damaged"]
