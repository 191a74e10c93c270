"""Orthogonal matrices as angles."""

import numpy as np
import pytest

from thresher.linalg import from_givens, givens_angles, n_givens_angles, turned_by_whole_givens


@pytest.mark.parametrize("N", [1, 2, 3, 9])
@pytest.mark.parametrize("sign", [1, -1])
def test_givens_angles(N, sign):
    rng = np.random.default_rng(N)
    Q = np.linalg.qr(rng.normal(size=(N, N)))[0]
    Q[0] *= sign * np.sign(np.linalg.det(Q))
    angles, found = givens_angles(Q)
    assert found == sign
    assert len(angles) == N * (N - 1) // 2 == n_givens_angles(N)
    np.testing.assert_allclose(from_givens(angles, found, N), Q, atol=1e-14)


@pytest.mark.parametrize("n_rows", [1, 4, 9])
def test_turns_by_whole_angles(n_rows):
    rng = np.random.default_rng(n_rows)
    D = np.linalg.qr(rng.normal(size=(10, 10)))[0]
    numbers = rng.integers(-500, 500, size=n_givens_angles(10, n_rows))
    expected = from_givens(2 * np.pi * numbers / 1024, -1, 10) @ D
    np.testing.assert_allclose(turned_by_whole_givens(D, numbers, -1, 1024), expected, atol=1e-7)
