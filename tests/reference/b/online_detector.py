"""ONLINE: the online detector of novel documents.

Paper B: Kasiviswanathan, Wang, Banerjee, Melville, "Online l1-Dictionary Learning with Application
to Novel Document Detection": Algorithm ONLINE of the main paper, put together from Appendix B,
(2)-(4), and the detection step of Appendix C, Algorithm 4.

    score of p:  min over c >= 0 of ||p - c D||_1 + lam ||c||_1,  novel if > zeta;
                 then one OIADMM step on the batch

Letters: the paper's P_t, A, X are P, D, C transposed.

Order of one step t >= 1: score all documents of P_t against hat A_t (Algorithm 2); mark; hat X_t =
the codes of the scoring; one step (2)-(4). No document and no code is kept for the next step, only
the dictionary and Delta.

Readings:
- The pseudocode of ONLINE is in the main paper, which is not at hand. Quoted from it: hat X_t are
  the codes of the detection step (codes against the old dictionary), the dictionary does not grow,
  step 0 initialises.
- How step 0 learns is not said. Here as in batch_impl.py: from D0 (K atoms) the loop of Algorithm
  4 on P_0. The online steps start at t = 1 with this dictionary and Delta = 0. K atoms exist after
  every step.
- Marked documents are learned from like all others.
- tau_t, beta_t, unequal batches, C = 0: see oiadmm.py. Stop of Algorithm 2: see codes_admm.py.
- lam = 0.1 is recalled, not verified. zeta is not given: an argument without default.
"""

from typing import NamedTuple

import numpy as np

from reference.b.batch_impl import learn
from reference.b.codes_admm import codes, scores
from reference.b.dictionary_admm import project
from reference.b.oiadmm import OnlineIterate, beta_practical, oiadmm_step, tau_practical


class OnlineStep(NamedTuple):
    t: int
    scores: np.ndarray  # n_t (None at t = 0)
    novel: np.ndarray  # n_t bool (None at t = 0)
    C: np.ndarray  # n_t x K: hat X_t (t = 0: the last codes of P_0)
    update: OnlineIterate  # all of (2)-(4) (None at t = 0)
    rounds: list  # t = 0: the rounds of Algorithm 4's loop (None later)
    D: np.ndarray  # K x F, hat A_{t+1}
    Delta: np.ndarray  # Delta_{t+1}


def online_detector(
    batches, D0, zeta, lam=0.1, tau=tau_practical, beta=beta_practical, rounds=20, rtol=1e-4, **admm
):
    """Yields one OnlineStep per batch; the first is step 0.

    admm: phi, gamma, n_iter, tol of Algorithms 2 and 3.
    """
    for t, P in enumerate(batches):
        if t == 0:
            D = project(D0)
            passes = list(learn(P, D, codes(P, D, lam, **admm), lam, rounds, rtol, **admm))
            D, Delta = passes[-1].D, np.zeros((0, P.shape[1]))
            yield OnlineStep(0, None, None, passes[-1].C, None, passes, D, Delta)
            continue
        C = codes(P, D, lam, **admm)  # score
        score = scores(P, C, D, lam)
        novel = score > zeta  # mark
        step = tau(t, C)
        update = oiadmm_step(t, P, C, D, Delta, step, beta(t, step))  # (2)-(4)
        D, Delta = update.D, update.Delta
        yield OnlineStep(t, score, novel, C, update, None, D, Delta)
