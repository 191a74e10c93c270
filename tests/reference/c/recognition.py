"""Paper C, "MahNMF: Manhattan Non-negative Matrix Factorization", Algorithms 5 and 4 (face
recognition).

Algorithm 5 (Sandler and Lindenbaum): code the test samples, c = argmin over c >= 0 of ||x - c
D||_1, and give each the label of the training sample whose code has the largest cosine with it.
Algorithm 4: codes by the pseudo-inverse, nearest in l2.

Letters: the paper's X is our X transposed, W is D, H is C transposed. Its column l of H_train is
row l of C_train.

Readings:
- Line 3 of Algorithm 5 prints argmin of the cosine, with norms of whole matrices. Default:
  argmax, norms of rows l and i (errata C.7); as_printed: the letter.
- A zero code has no cosine. It counts as 0.
- Line 1 of Algorithm 5 is an argmin without a method: solved exactly, as a linear program for
  each sample. Where the minimiser is not unique, the code is the solver's choice. The codes are
  arguments, so others can be used.
- C_train of Algorithm 5 is the factorization's own; Algorithm 4 recomputes both from D.
- Equal cosines or distances: the first training sample.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog


class Match(NamedTuple):
    i: int  # test sample
    scores: np.ndarray  # one for each training sample
    j: int  # training sample
    label: object


def represent(X, D):
    """Line 1 of Algorithm 5: min sum s over c >= 0, s >= |x - c D|."""
    K, F = D.shape
    cost = np.concatenate([np.zeros(K), np.ones(F)])
    A = np.block([[D.T, -np.eye(F)], [-D.T, -np.eye(F)]])
    return np.array([linprog(cost, A, np.concatenate([x, -x])).x[:K] for x in X])


def algorithm5(C_train, labels, C_test, as_printed=False):
    """Lines 2 to 5. Yields a Match for every test sample."""
    train, test = np.linalg.norm(C_train, axis=1), np.linalg.norm(C_test, axis=1)
    if as_printed:
        train, test = (
            np.full_like(train, np.linalg.norm(C_train)),
            np.full_like(test, np.linalg.norm(C_test)),
        )
    for i, c in enumerate(C_test):
        scale = train * test[i]
        cosines = C_train @ c / np.where(scale > 0, scale, 1)
        j = np.argmin(cosines) if as_printed else np.argmax(cosines)  # line 3
        yield Match(i, cosines, j, labels[j])  # line 4


def algorithm4(X_train, labels, X_test, D):
    """Algorithm 4. Yields a Match for every test sample; the scores are distances."""
    inverse = np.linalg.pinv(D)  # line 1
    C_train, C_test = X_train @ inverse, X_test @ inverse
    for i, c in enumerate(C_test):
        distances = np.linalg.norm(C_train - c, axis=1)
        j = np.argmin(distances)  # line 3
        yield Match(i, distances, j, labels[j])  # line 4
