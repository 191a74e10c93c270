"""All machine code beforehand: small pieces of work that together use every kernel.

Installing the package runs them, and so does ``thresher warm-up``, for images and clusters.

    python -m thresher.tasks.warm_up FOLDER
"""

import multiprocessing
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

Samples = Any
DTYPES = ("float32", "float64")


def _dense(dtype: str, gaps: bool = False) -> Samples:
    rng = np.random.default_rng(0)
    X = (rng.random((40, 4)) @ rng.random((4, 24)) + 0.01 * rng.random((40, 24))).astype(dtype)
    X[::5, ::7] += 1
    X.flags.writeable = False
    return np.where(rng.random(X.shape) < 0.1, X.dtype.type(np.nan), X) if gaps else X


def _counts(dtype: str) -> Samples:
    rng = np.random.default_rng(0)
    chances = rng.gamma(0.3, size=(60, 4)) @ rng.gamma(0.1, size=(4, 40))
    return sparse.csr_matrix(rng.poisson(3 * chances).astype(dtype))


def _learn(model: Any, *data: Samples) -> None:
    for X in data:
        model.fit(X)
        model.transform(X)


def _robust(dtype: str) -> None:
    from thresher import OnlineRobustNMF

    whole, gaps = _dense(dtype), _dense(dtype, gaps=True)
    model = OnlineRobustNMF(3, random_state=0, verbose=0)
    _learn(model, whole, gaps)
    model.separate(whole)
    model.impute(gaps)
    OnlineRobustNMF(3, dictionary_set="l1_ball", random_state=0, verbose=0).fit(whole)


def _simplex(dtype: str) -> None:
    from thresher import OnlineRobustNMF, RobustNMF

    _learn(OnlineRobustNMF(3, code_set="simplex", random_state=0, verbose=0), _dense(dtype))
    _learn(RobustNMF(3, random_state=0, verbose=0), _dense(dtype), _dense(dtype, gaps=True))


def _sparse_divergences(dtype: str) -> None:
    from thresher import BatchNMF, OnlineNMF

    for divergence in ("kl", "squared_l2"):
        _learn(OnlineNMF(3, divergence=divergence, random_state=0, verbose=0), _counts(dtype))
    _learn(BatchNMF(3, divergence="kl", random_state=0, verbose=0), _counts(dtype))


def _dense_divergences(dtype: str) -> None:
    from thresher import OnlineNMF

    for divergence in ("kl", "is", "squared_l2", "huber", "l2"):
        _learn(OnlineNMF(3, divergence=divergence, random_state=0, verbose=0), _dense(dtype) + 0.1)


def _least_absolute(dtype: str) -> None:
    from thresher import OnlineL1Dictionary

    _learn(OnlineL1Dictionary(3, random_state=0, verbose=0), _dense(dtype))


def _least_absolute_sparse(dtype: str) -> None:
    from thresher import OnlineL1Dictionary

    _learn(OnlineL1Dictionary(3, random_state=0, verbose=0), _counts(dtype))


def _manhattan(dtype: str) -> None:
    from thresher import ManhattanNMF, SymmetricManhattanNMF

    X = _dense(dtype)
    ManhattanNMF(3, random_state=0, verbose=0).fit(X)
    SymmetricManhattanNMF(3, random_state=0, verbose=0).fit(X @ X.T)


def _orthogonal(dtype: str) -> None:
    from thresher import OnlineOrthogonalDictionary

    _learn(OnlineOrthogonalDictionary(random_state=0, verbose=0), _dense(dtype)[:, :8])


def _video(dtype: str) -> None:
    from thresher import VideoSeparator

    frames = np.random.default_rng(0).integers(0, 255, (8, 16, 16)).astype(dtype)
    VideoSeparator(random_state=0, verbose=0).fit(frames)


def _codec(dtype: str) -> None:
    from thresher import SensorCodec

    X = np.cumsum(np.random.default_rng(0).normal(size=(200, 6)), axis=0).round(1).astype(dtype)
    X[::9, 1] = np.nan
    for error in (0.0, 0.01):
        codec = SensorCodec(error=error)
        codec.decompress(codec.compress(X))


def _spectra(dtype: str) -> None:
    from thresher import SpectralUnmixer

    _learn(SpectralUnmixer(3, random_state=0, verbose=0), _dense(dtype))


def _tables(dtype: str) -> None:
    from thresher import TableCleaner

    X = np.cumsum(np.random.default_rng(0).normal(size=(60, 6)), axis=0).astype(dtype)
    X[::9, 1] = np.nan
    for causal in (False, True):
        TableCleaner(causal=causal, random_state=0, verbose=0).clean(X)


_BY_COST: tuple[Callable[[str], None], ...] = (
    _least_absolute,
    _robust,
    _sparse_divergences,
    _least_absolute_sparse,
    _codec,
    _manhattan,
    _spectra,
    _dense_divergences,
    _simplex,
    _orthogonal,
    _tables,
    _video,
)


def _work(piece: int, dtype: str) -> str:
    from thresher.kernels.machine_code import notice

    notice.spare()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such small data settle badly
        _BY_COST[piece](dtype)
    return f"{_BY_COST[piece].__name__.strip('_').replace('_', ' ')}, {dtype}"


def warm_up(jobs: int | None = None) -> Iterator[tuple[str, int, int]]:
    """Run all pieces in several processes; what was done, how many are done, and of how many.

    Some kernels serve both types of numbers: one type follows the other, so that two processes do
    not compile the same at the same time.
    """
    pieces = [(piece, dtype) for dtype in DTYPES for piece in range(len(_BY_COST))]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs or os.cpu_count(), mp_context=spawn) as pool:
        futures = [pool.submit(_work, *piece) for piece in pieces]
        for n, future in enumerate(as_completed(futures)):
            yield future.result(), n + 1, len(pieces)


def main() -> None:
    """Compile into a folder: what building a wheel does."""
    os.environ["NUMBA_CACHE_DIR"] = str(Path(sys.argv[1]).resolve())
    for _ in warm_up():
        pass


if __name__ == "__main__":
    main()
