"""OIADMM: the online inexact ADMM step for the dictionary.

Paper B: Kasiviswanathan, Wang, Banerjee, Melville, "Online l1-Dictionary Learning with Application
to Novel Document Detection", Appendix B, update rules (2)-(4), Theorems B.5 and B.6.

    online:  min over D in S of  sum_t ||P_t - C_t D||_1,     S: D >= 0, ||d_k||_1 <= 1
    one gradient-like step per batch P_t, with  Gamma = P_t - C_t D  and its multiplier Delta

Letters: the paper's P_t, A, X_t, Gamma, Delta are P, D, C, Gamma, Delta transposed. Its hat X_t
(codes against the old dictionary, from the detection step) is C. Its tilde Gamma_t = P_t - hat A_t
hat X_t is `residual`, its hat Gamma_t = P_t - hat A_{t+1} hat X_t is P - C D with the new D.
Psi_max(hat X_t): largest eigenvalue of C^T C.

Readings:
- X_t in (4) is hat X_t: the proof of Lemma B.3 needs Gamma_{t+1} - hat Gamma_t = (Delta_t -
  Delta_{t+1})/beta_t (errata B.1).
- G_{t+1} is not in the recap; it is read off (6): G = -(Delta_t/beta_t + tilde Gamma_t -
  Gamma_{t+1}) hat X_t^T.
- tau and beta in practice: tau_t = 1/(2 Psi_max(hat X_t)) and beta_t = 5 are recalled from the
  main paper, not verified. The appendix only has 1/tau_t >= 2 Psi_max (iv) and beta_t = (Phi/D)
  sqrt(tau_t T). Both are functions here.
- Theorem B.5: its sums telescope only for constant tau and beta (errata B.3). tau_constant and
  beta_theorem give these; tau_practical with beta_theorem gives the theorem's letter, with tau_t.
  Phi <= sqrt(n F), D <= sqrt(K).
- Theorem B.5's bound is Phi D sqrt(T/tau): its two halves are equal and add up to twice the
  printed value (errata B.3). n = F = K = 1, p = c = 1, T = 100, tau = 1/2 passes the printed one
  (R is 1.07 times it).
- The theorem sums from t = 1 but telescopes to hat A_0 = 0. Here the start is called D1 (used at t
  = 1). For D1 other than 0, ||A_opt - D1||_F takes the place of the theorem's D.
- D1 = 0 is a fixed point if the codes come from D (errata B.3): all codes are 0. Start from data,
  or give the codes.
- C = 0: G = 0 for any tau. Here tau = 0 and D stays; (2) and (4) still run, so Delta moves.
  beta_theorem needs tau > 0.
- Delta has one row per document, so the theory needs equal batches (errata B.4). Here row i
  belongs to the i-th document of a batch; rows that do not exist yet start at 0; rows that a small
  batch does not use are kept.
- What hat X_t and X_t = hat X_t + E_t are: E_t is the error of the codes. The appendix does not
  define X_t. `regret` compares at the codes used unless others are given.
- Theorem B.6 prints the norm as ||.||_2; its proof has the Frobenius norm.
"""

from typing import NamedTuple

import numpy as np

from reference.b.codes_admm import codes, psi_max, soft
from reference.b.dictionary_admm import dictionary, project


class OnlineIterate(NamedTuple):
    t: int  # from 1
    P: np.ndarray  # n x F
    C: np.ndarray  # n x K, hat X_t
    D_old: np.ndarray  # K x F, hat A_t
    Delta_old: np.ndarray  # Delta_t, all rows (at least n)
    tau: float
    beta: float
    residual: np.ndarray  # n x F, tilde Gamma_t
    Gamma: np.ndarray  # n x F, Gamma_{t+1}
    G: np.ndarray  # K x F, G_{t+1}
    D: np.ndarray  # K x F, hat A_{t+1}
    Delta: np.ndarray  # Delta_{t+1}, all rows


def tau_practical(t, C):
    """tau_t = 1/(2 Psi_max(hat X_t)), 0 for C = 0."""
    return 1 / (2 * psi_max(C)) if C.any() else 0.0


def beta_practical(t, tau):
    return 5.0


def tau_constant(psi):
    """Theorem B.5 (iv) for all t: psi bounds every Psi_max(hat X_t).

    For exact codes psi = n (max ||p||_1 / lam)^2 does.
    """
    return lambda t, C: 1 / (2 * psi)


def beta_theorem(T, n, F, K, Phi=None, D_norm=None):
    """beta_t = (Phi/D) sqrt(tau_t T) of Theorem B.5."""
    Phi = np.sqrt(n * F) if Phi is None else Phi
    D_norm = np.sqrt(K) if D_norm is None else D_norm

    def beta(t, tau):
        if not tau > 0:
            raise ValueError("beta_theorem needs tau > 0")
        return Phi / D_norm * np.sqrt(tau * T)

    return beta


def oiadmm_step(t, P, C, D, Delta, tau, beta):
    """(2)-(4) for one batch with its codes."""
    n = len(P)
    Delta = np.vstack([Delta, np.zeros((max(n - len(Delta), 0), P.shape[1]))])
    residual = P - C @ D
    Gamma = soft(residual + Delta[:n] / beta, 1 / beta)  # (2)
    G = -C.T @ (Delta[:n] / beta + residual - Gamma)  # G_{t+1}, first line of (6)
    D_new = project(D - tau * G)  # (3)
    Delta_new = Delta.copy()
    Delta_new[:n] = Delta[:n] + beta * (P - C @ D_new - Gamma)  # (4) with hat X_t
    return OnlineIterate(t, P, C, D, Delta, tau, beta, residual, Gamma, G, D_new, Delta_new)


def oiadmm(batches, D1, code=lambda t, P, D: codes(P, D), tau=tau_practical, beta=beta_practical):
    """Yields one OnlineIterate per batch. code(t, P, D): codes against the old dictionary."""
    D, Delta = D1, np.zeros((0, D1.shape[1]))  # Delta = 0, Theorem B.5 (iii)
    for t, P in enumerate(batches, 1):
        C = code(t, P, D)
        step = tau(t, C)
        yield (last := oiadmm_step(t, P, C, D, Delta, step, beta(t, step)))
        D, Delta = last.D, last.Delta


def best_dictionary(iterates, true_codes=None, **settings):
    """A_opt (the problem after (4)) by Algorithm 3: minimiser over S of sum_t ||P_t - C_t D||_1."""
    C = [s.C for s in iterates] if true_codes is None else true_codes
    return dictionary(np.vstack([s.P for s in iterates]), np.vstack(C), **settings)


def regret(iterates, D_opt, true_codes=None):
    """R(1), ..., R(T) for one D_opt: sum over t of ||tilde Gamma_t||_1 - ||P_t - X_t D_opt||_1."""
    C = [s.C for s in iterates] if true_codes is None else true_codes
    return np.cumsum(
        [
            np.abs(s.residual).sum() - np.abs(s.P - c @ D_opt).sum()
            for s, c in zip(iterates, C, strict=True)
        ]
    )


def violation(iterates):
    """Theorem B.6: sum over t of ||Gamma_{t+1} - hat Gamma_t||_F^2, after each t."""
    return np.cumsum([((s.Gamma - (s.P - s.C @ s.D)) ** 2).sum() for s in iterates])


def code_error(iterates, D_opt, true_codes):
    """Last term of Theorem B.5: sum over t of ||E_t D_opt||_1, E_t = X_t - hat X_t."""
    return np.cumsum(
        [np.abs((x - s.C) @ D_opt).sum() for s, x in zip(iterates, true_codes, strict=True)]
    )


def regret_bound(T, tau, Phi, D_norm, as_printed=False):
    """Theorem B.5 without the code error. as_printed: the printed half of it."""
    return Phi * D_norm * np.sqrt(T / tau) / (2 if as_printed else 1)


def violation_bound(T, tau, Phi, D_norm, Upsilon):
    """Theorem B.6. Upsilon bounds every ||P_t - C_t D_opt||_1."""
    return 2 * D_norm**2 / tau + 4 * Upsilon * D_norm * np.sqrt(T) / (Phi * np.sqrt(tau))
