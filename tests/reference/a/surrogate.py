"""Measures of convergence of the online algorithms.

Paper A, "Online Nonnegative Matrix Factorization with Outliers": surrogate loss (11) and the
measure (46).

    (11)  f~_t(D) = 1/t sum_{i<=t} ( 1/2 ||x_i - c_i D - r_i||^2 + lam ||r_i||_1 )
    (46)  f^_t(D) = 1/t sum_{i<=t}   1/2 ||x_i^o - c_i D||^2

x^o is the clean sample. c_i and r_i are those found when sample i came, never coded again. With A
= mean c'c, B = mean c'(x - r) and one running number s = mean( 1/2 ||x - r||^2 + lam ||r||_1 ),

    f~_t(D) = 1/2 tr(D' A D) - tr(D' B) + s,

so (11) needs no stored samples, though VII-D says that it does.

Letters: rows are samples and atoms. The paper's W is D transposed, h_i is c_i, v_i is x_i, B is B
transposed.

Readings:
 1. In (11) the penalty stands inside the sum, as r_i shows.
 2. With mini-batches, t counts samples, not batches: every sample has the same weight.
 3. VII-D looks at f~_t(W_t): the dictionary after step t, with the codes of step t and before.
 4. Which c and r ADMM means: those that entered A and B (errata A.5).
"""

from typing import NamedTuple

import numpy as np


class Measures(NamedTuple):
    t: int  # time instant
    n: int  # samples seen
    stored: float  # (11) at the step's D, from all samples so far
    running: float  # (11) at the step's D, from A, B and s
    s: float  # the running number
    clean: float  # (46) at the step's D; nan without clean data


def surrogate_stored(X, C, R, D, lam):
    return np.mean(
        0.5 * np.sum((X - C @ D - R) ** 2, axis=1) + lam * np.sum(np.abs(R), axis=1)
    )  # (11)


def surrogate_running(A, B, s, D):
    return 0.5 * np.sum(D * (A @ D)) - np.sum(D * B) + s  # (11) by (12)


def update_number(s, n, X, R, lam):
    """s after the batch X, R; n samples were seen before it."""
    batch = np.sum(0.5 * np.sum((X - R) ** 2, axis=1) + lam * np.sum(np.abs(R), axis=1))
    return (n * s + batch) / (n + len(X))


def clean_measure(X_clean, C, D):
    return np.mean(0.5 * np.sum((X_clean - C @ D) ** 2, axis=1))  # (46)


def measures(X, steps, lam=None, X_clean=None):
    """steps: what opgd or oadmm yields for X. Yields a Measures per step."""
    lam = 1 / np.sqrt(X.shape[1]) if lam is None else lam  # VII-C
    n, s, C, R = 0, 0.0, [], []
    for step in steps:
        s = update_number(s, n, X[n : step.n], step.R, lam)
        n = step.n
        C.append(step.C)
        R.append(step.R)
        c, r = np.concatenate(C), np.concatenate(R)
        clean = np.nan if X_clean is None else clean_measure(X_clean[:n], c, step.D)
        yield Measures(
            step.t,
            n,
            surrogate_stored(X[:n], c, r, step.D, lam),
            surrogate_running(step.A, step.B, s, step.D),
            s,
            clean,
        )
