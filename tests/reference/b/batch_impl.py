"""BATCH-IMPL: the batch detector of novel documents.

Paper B: Kasiviswanathan, Wang, Banerjee, Melville, "Online l1-Dictionary Learning with Application
to Novel Document Detection", Appendix C, Algorithm 4 (with Algorithms 2 and 3 inside).

    score of p:  min over c >= 0 of ||p - c D||_1 + lam ||c||_1,  novel if > zeta
    learning:    min over D in S, C >= 0 of ||P - C D||_1 + lam ||C||_1 over all documents so far,
                 S: D >= 0, ||d_k||_1 <= 1

Letters: the paper's P_t, A_t, X are P, D, C transposed. P_[t] are all documents up to step t,
X_[t] their codes.

Order of one step t >= 1: score all documents of P_t against A_t; mark; add eta atoms; append the
new documents and the very codes of the scoring; then alternate Algorithm 3 (dictionary, first) and
Algorithm 2 (all codes).

Readings:
- Step 0 is not in Algorithm 4. The main paper learns from the first 1000 documents. Here step 0 is
  the learning part of Algorithm 4 on P_0 alone, without growth: start D0 (K atoms, projected on
  S), codes by Algorithm 2, then the loop. So K atoms exist after step 0 (A_1, k_1 = K), K + t eta
  after step t, and X_[0] are the codes of P_0. D0 = 0 would stay 0.
- "for i = 1 to convergence" is not defined. Here the loop stops when the objective (all documents)
  changes by at most rtol times its old value, or after `rounds` rounds. Both numbers are choices
  of this file.
- Algorithm 2 starts from 0 in every round (as printed there), Algorithm 3 from the last
  dictionary. So the stored codes X_[t-1] serve one thing: the first Algorithm 3 of the next step.
  They are the codes against A_t already.
- New atoms: the paper gives them zero codes and no start. With a zero start neither algorithm ever
  moves them (errata B.5). Here they start from data: new_atoms(P_t, scores, eta), by default the
  eta documents of P_t with the largest scores (first come first at a tie; needs eta <= n_t). Their
  codes start at zero as printed, so the first Algorithm 3 leaves them as they are and the first
  Algorithm 2 gives them codes. as_printed=True: zero atoms.
- eta = 10 is quoted from the main paper. lam = 0.1 is recalled, not verified. zeta is not given:
  an argument without default. Exact codes score at most ||p||_1 = 1, so zeta < 1 (errata B.2).
- Further settings (phi, gamma, n_iter, tol) go to Algorithms 2 and 3; their defaults and stops are
  there.
"""

from typing import NamedTuple

import numpy as np

from reference.b.codes_admm import codes, scores
from reference.b.dictionary_admm import dictionary, project


class Round(NamedTuple):
    i: int
    D: np.ndarray  # K x F after Algorithm 3
    C: np.ndarray  # N x K after Algorithm 2
    objective: float  # ||P - C D||_1 + lam ||C||_1


class BatchStep(NamedTuple):
    t: int
    scores: np.ndarray  # n_t (None at t = 0)
    novel: np.ndarray  # n_t bool (None at t = 0)
    C_new: np.ndarray  # n_t x k_t, codes of the detection step (None at t = 0)
    P: np.ndarray  # N_t x F, P_[t]
    D_start: np.ndarray  # k_{t+1} x F, A_t with its new atoms
    C_start: np.ndarray  # N_t x k_{t+1}, X_[t] before the loop
    rounds: list  # of Round
    D: np.ndarray  # k_{t+1} x F, A_{t+1}
    C: np.ndarray  # N_t x k_{t+1}, X_[t]


def start(rng, P, K):
    """K different documents as the first dictionary (a choice of this file)."""
    return project(P[rng.choice(len(P), K, replace=False)])


def worst_documents(P, score, eta):
    return project(P[np.argsort(-score, kind="stable")[:eta]])


def learn(P, D, C, lam=0.1, rounds=20, rtol=1e-4, **admm):
    """The loop of Algorithm 4. Yields one Round per pass."""
    old = scores(P, C, D, lam).sum()
    for i in range(1, rounds + 1):
        D = dictionary(P, C, D, **admm)  # Algorithm 4: Solve A_{t+1}, warm
        C = codes(P, D, lam, **admm)  # Algorithm 4: Solve X_[t]
        objective = scores(P, C, D, lam).sum()
        yield Round(i, D, C, objective)
        if abs(old - objective) <= rtol * old:
            return
        old = objective


def batch_impl(
    batches,
    D0,
    zeta,
    lam=0.1,
    eta=10,
    rounds=20,
    rtol=1e-4,
    new_atoms=worst_documents,
    as_printed=False,
    **admm,
):
    """Yields one BatchStep per batch; the first batch is step 0."""
    D, C = project(D0), None
    for t, P_t in enumerate(batches):
        if t == 0:
            score = novel = C_new = None
            P, D_start, C_start = P_t, D, codes(P_t, D, lam, **admm)
        else:
            C_new = codes(P_t, D, lam, **admm)  # detection: x_j for every p_j
            score = scores(P_t, C_new, D, lam)
            novel = score > zeta  # detection: mark
            fresh = np.zeros((eta, P.shape[1])) if as_printed else new_atoms(P_t, score, eta)
            D_start = np.vstack([D, fresh])  # k_{t+1} = k_t + eta
            Z = np.vstack([C, C_new])  # Z_[t] = [X_[t-1] | x_1 ... x_nt]
            C_start = np.hstack([Z, np.zeros((len(Z), eta))])  # X_[t] = [Z_[t]; 0]
            P = np.vstack([P, P_t])  # P_[t]
        passes = list(learn(P, D_start, C_start, lam, rounds, rtol, **admm))
        D, C = passes[-1].D, passes[-1].C
        yield BatchStep(t, score, novel, C_new, P, D_start, C_start, passes, D, C)
