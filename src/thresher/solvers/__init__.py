"""Solvers by name: the library's own choice, ``auto``, and the published ones.

A solver is a function from a `Specification` to candidate methods; the first batch decides among
them. ``OnlineRobustNMF(solver="opgd")`` is a solver with the constants of its paper;
``OnlineRobustNMF(solver=thresher.solvers.opgd(kappa=0.5))`` is the same with other constants.
"""

from collections.abc import Mapping
from typing import Any

from thresher.published.base import Published as Published
from thresher.published.divergences import MU, SPSGD, OLGuan, OLLef, OLWang
from thresher.published.l1_dictionary import ADMM, OIADMM
from thresher.published.low_rank import DUAL_PER_PRIMAL as DUAL_PER_PRIMAL
from thresher.published.low_rank import default_weight as default_weight
from thresher.published.low_rank import godec as godec
from thresher.published.low_rank import pursue as pursue
from thresher.published.manhattan import OGM, RRI, SymmetricRRI
from thresher.published.novelty import BatchImpl, L2Batch, Online, SparseCoding
from thresher.published.orthogonal import AODL, SFW, NoncvxSFW
from thresher.published.outliers import BADMM, BPGD, OADMM, OPGD
from thresher.solvers import auto

# The names of ``solver="..."``.
opgd, oadmm, bpgd, badmm = OPGD, OADMM, BPGD, BADMM
oiadmm, admm = OIADMM, ADMM
online, batch_impl, l2_batch, sparse_coding = Online, BatchImpl, L2Batch, SparseCoding
rri, ogm, symmetric_rri = RRI, OGM, SymmetricRRI
noncvx_sfw, sfw, aodl = NoncvxSFW, SFW, AODL
spsgd, ol_guan, ol_lef, ol_wang, mu = SPSGD, OLGuan, OLLef, OLWang, MU


def _table(own: Any, *published: Published) -> dict[str, Any]:
    """Return the solvers of a problem by name."""
    return {"auto": own} | {solver.name: solver for solver in published}


ONLINE_ROBUST_SOLVERS = _table(auto.online_robust, OPGD(), OADMM())
BATCH_ROBUST_SOLVERS = _table(auto.batch_robust, BPGD(), BADMM())
ONLINE_DIVERGENCE_SOLVERS = _table(auto.online_divergence, SPSGD(), OLGuan(), OLLef(), OLWang())
BATCH_DIVERGENCE_SOLVERS = _table(auto.batch_divergence, MU(), SparseCoding())
ONLINE_L1_SOLVERS = _table(auto.online_l1, OIADMM())
BATCH_L1_SOLVERS = _table(auto.batch_l1, ADMM())
MANHATTAN_SOLVERS = _table(auto.manhattan, RRI(), OGM())
SYMMETRIC_SOLVERS = _table(auto.RowSweeps(), SymmetricRRI())
ORTHOGONAL_SOLVERS = _table(auto.BestOrthogonal(), NoncvxSFW(), SFW(), AODL())

_PUBLISHED = (
    *(OPGD, OADMM, BPGD, BADMM, OIADMM, ADMM, Online, BatchImpl, L2Batch, SparseCoding),
    *(RRI, OGM, SymmetricRRI, NoncvxSFW, SFW, AODL, SPSGD, OLGuan, OLLef, OLWang, MU),
)
PUBLISHED: dict[str, type[Published]] = {kind.name: kind for kind in _PUBLISHED}
"""Every published solver and mode of a detector, by its name."""


def name_of(value: Any) -> str:
    """Return the name of a solver for states and files, or the class of another object."""
    if isinstance(value, Published):
        return value.name
    return value if isinstance(value, str) else type(value).__name__


def named_solver(value: Any, solvers: Mapping[str, Any]) -> Any:
    """Return the solver of a table with a name, or a published one of its classes as it is."""
    if isinstance(value, str) and value in solvers:
        return solvers[value]
    kinds = tuple(type(solver) for solver in solvers.values() if isinstance(solver, Published))
    if isinstance(value, kinds):
        return value
    *others, last = map(repr, solvers)
    raise ValueError(f"solver={value!r} is not known; use {', '.join(others)} or {last}.")
