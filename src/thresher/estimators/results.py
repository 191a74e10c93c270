"""Results of methods: of sources batch by batch, of Dask collections lazily, in any container."""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils._set_output import _get_container_adapter
from sklearn.utils.validation import _check_feature_names_in, validate_data

from thresher.cluster import collection_source, is_collection
from thresher.estimators.frames import columns_of, is_frame, like
from thresher.estimators.validation import computing_dtype
from thresher.linalg import Array
from thresher.streams import Batch, Source, as_source, is_stream
from thresher.streams.reader import TWICE
from thresher.streams.writing import About, write_results

_DOUBLE = np.dtype(np.float64)
_VALUES_PER_SAMPLE = {
    "score_samples": _DOUBLE,
    "decision_function": _DOUBLE,
    "predict": np.dtype(np.int64),
}
"""Methods that return one value for each sample, and its type."""

_DENSE = ("separate", "entry_scores", "impute")
"""Methods that return dense samples, so that sparse batches are expanded first."""

Work = Callable[..., Any]
"""A method of a batch: from the batch as given, and as checked samples."""


def public_name(work: Work) -> str:
    """Return the name of the public method of which this is the private twin."""
    return work.__name__.removeprefix("_")


def comes_in_parts(X: Any) -> bool:
    """Whether X is read part by part: a stream, or an array or data frame of Dask's."""
    return is_stream(X) or is_collection(X)


def source_of(X: Any) -> Source:
    """Return data that come in parts as a source."""
    return collection_source(X) if is_collection(X) else as_source(X)


def refuse_single_reading(X: Any) -> None:
    """Refuse a stream that can be read once where it is read twice."""
    if isinstance(X, Iterator) or getattr(getattr(X, "reader", None), "once", False):
        raise ValueError(TWICE)


def refuse_dense_results(model: Any, work: Work, X: Any) -> None:
    """Refuse sparse samples where the result is dense, unless unstored entries are missing."""
    method = public_name(work)
    if method in _DENSE and sparse.issparse(X) and model.implicit_zeros == "observed":
        raise TypeError(
            f"{method} returns dense arrays of the size of the data; pass X.toarray(), or a source "
            "or an iterable of blocks of rows, which is processed block by block."
        )


class Results:
    """Results of a source, batch by batch: iterating reads the source and computes.

    As often as the source can be read. Nothing is kept.
    """

    def __init__(self, source: Source, work: Callable[[Any], Any]) -> None:
        self._source, self._work = source, work

    @property
    def n_samples(self) -> int | None:
        """Number of samples, if it is known."""
        return self._source.n_samples

    def __iter__(self) -> Iterator[Any]:
        return map(self._work, self._source)


def as_array(results: Any) -> Any:
    """Return the results of all batches, or of a Dask collection, as one array."""
    if is_collection(results):
        return np.asarray(results.compute())
    return np.concatenate(list(results)) if isinstance(results, Results) else results


def results_by_batch(model: Any, work: Work, X: Any, write: Any, options: Mapping[str, Any]) -> Any:
    """Apply the private twin of a public method to every batch of a source.

    Returns `Results`, or the paths that they were written to; of a Dask collection a lazy
    collection, or a list of several.

    Parameters
    ----------
    model : estimator
    work : callable
        The method on one batch: ``work(given, checked, **options)``.
    X : source, stream or collection; with ``write`` anything that the model takes
    write : path, array, mapping or None
    options : dict
    """
    method = public_name(work)
    if write is None and is_collection(X):
        results = _lazy_results(model, method, work, X, options)
        return results if len(results) > 1 else results[0]
    in_parts = comes_in_parts(X)
    array = isinstance(X, np.ndarray)
    source = source_of(X if in_parts or array else model._checked(X, known=True))
    check_source_names(model, source)
    if source.batch_size is None and source.reader.uneven and not source.window:
        source = source.in_batches(1 << 62)  # each array as it comes
    source = source.sized(len(model.components_))
    compare_names = source.names is None and (in_parts or array)
    expand = method in _DENSE and model.implicit_zeros == "observed"

    def of_piece(piece: Any) -> Any:
        given: Any = piece
        if expand and sparse.issparse(piece):
            given = given.toarray()
        checked = model._checked(given, known=True, compare_names=compare_names)
        return work(given, checked, **options)

    batches = Results(source, of_piece)
    if write is None:
        return batches
    return write_results(batches, write, _columns(model, method, source), source.reader.paths)


def check_source_names(model: Any, source: Source) -> None:
    """Refuse columns of other names, or in another order, than those of `fit`."""
    known = getattr(model, "feature_names_in_", None)
    if known is None or source.names is None or list(known) == source.names:
        return
    raise ValueError(
        f"The feature names should match those that were passed during fit: "
        f"{_some(list(known))}; the source has {_some(source.names)}. Choose them with "
        "thresher.open(..., columns=[...])."
    )


def _columns(model: Any, method: str, source: Source) -> About | Mapping[str, About]:
    if method in _VALUES_PER_SAMPLE:
        return About(["score" if method == "score_samples" else method])
    names = source.names or list(_check_feature_names_in(model))
    samples = About(names, source.sample_shape, source.reader.rate)
    parts = _returned(method, samples, About(list(model.get_feature_names_out())))
    return parts if len(parts) > 1 else parts[method]


def _returned(method: str, samples: Any, codes: Any) -> dict[str, Any]:
    """Return the parts of a result by name, each described as samples or as codes are."""
    if method == "separate":
        return {"low_rank": samples, "outliers": samples, "codes": codes}
    return {method: codes if method == "transform" else samples}


def _some(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")


# ----------------------------------------------------------------------- sources of fit


class CheckedSource:
    """A source for the engine: every piece becomes a checked batch.

    The first batch is needed before learning begins, and some streams are read once, so the pass
    that it was taken from continues after it.
    """

    def __init__(self, source: Source, check: Callable[[Any, bool], Batch]) -> None:
        self._source, self._check = source, check
        self._begun: Generator[Any] | None = None
        self._first: Any = None

    @property
    def n_samples(self) -> int | None:
        """Samples in a pass, or None if unknown."""
        return self._source.n_samples

    def first(self, at_least: int = 0) -> Any:
        """Return the first piece as it is, of any length; None of an empty source."""
        self._begun = self._source.pieces()
        self._first = next(self._begun, None)
        return self._first

    def batches(self, pass_index: int, skip: int) -> Generator[Batch]:
        """Yield the batches of a pass after the first ``skip``."""
        compare_names = self._source.names is None
        if self._begun is not None and (pass_index, skip) == (0, 0):
            pieces, first = self._begun, self._first
            self._begun = self._first = None
        else:
            pieces, first = self._source.pieces(pass_index, skip), None
        with closing(pieces):
            if first is not None:
                yield self._check(first, compare_names)
                first = None
            for piece in pieces:
                yield self._check(piece, compare_names)


# -------------------------------------------------------------------- Dask collections


@dataclass(frozen=True)
class _LazyWork:
    """A method of a fitted model for blocks of a collection, whose names were compared."""

    model: Any
    work: str
    options: Mapping[str, Any]

    def __call__(self, rows: Any) -> Any:
        """Return arrays, whatever `set_output` says; blocks of frames become frames later."""
        checked = self.model._checked(rows, known=True, compare_names=False)
        result = getattr(self.model, self.work)(rows, checked, **self.options)
        return tuple(map(np.asarray, result)) if isinstance(result, tuple) else np.asarray(result)


def without_callbacks(model: Any) -> Any:
    """Return a copy of a model that works silently in one thread, without history."""
    alone = copy(model)
    vars(alone).update(callbacks=None, verbose=0, n_jobs=1)
    vars(alone).pop("history_", None)
    return alone


def _lazy_results(
    model: Any, method: str, work: Work, X: Any, options: Mapping[str, Any]
) -> list[Any]:
    from thresher.cluster import lazy  # needs dask, which is there if a collection is

    head = lazy.head_of(X)
    dense = method in _DENSE and model.implicit_zeros == "observed"
    if sparse.issparse(head) and dense:
        raise TypeError(
            f"{method} gives dense arrays of the size of the data; make the blocks dense first, "
            "with X.map_blocks(lambda block: block.toarray())."
        )
    model._check_unchanged()
    validate_data(model, head, reset=False, skip_check_array=True)
    dtype = _collection_dtype(head)
    if method in _VALUES_PER_SAMPLE:
        outcomes = [lazy.ResultSpec(None, _VALUES_PER_SAMPLE[method])]
    else:
        codes = lazy.ResultSpec(list(model.get_feature_names_out()), dtype)
        names = head.columns if hasattr(head, "columns") else _check_feature_names_in(model)
        samples = lazy.ResultSpec(list(names), dtype)
        outcomes = list(_returned(method, samples, codes).values())
    applied = _LazyWork(without_callbacks(model), work.__name__, options)
    return lazy.lazily(X, applied, outcomes)


def _collection_dtype(head: Any) -> np.dtype[Any]:
    """Return the precision of samples; of a frame that which holds all of its columns."""
    if not hasattr(head, "columns"):
        return computing_dtype(head)
    plain = all(isinstance(kind, np.dtype) for kind in head.dtypes)
    return computing_dtype(head.to_numpy()) if plain else _DOUBLE


# -------------------------------------------------------------------------- containers


def codes_like(X: Any, codes: Array, model: Any) -> Any:
    """Return codes in the container of `set_output`, with the index of the samples."""
    adapter = _get_container_adapter("transform", model)
    if adapter is None:
        return codes
    return adapter.create_container(codes, X, model.get_feature_names_out)


def samples_like(X: Any, values: Array, model: Any) -> Any:
    """Return values of the shape of samples in their container, with their index and columns."""
    names = columns_of(X) if is_frame(X) else partial(_check_feature_names_in, model)
    return _contained(values, X, names, model)


def samples_of(C: Any, samples: Array, model: Any) -> Any:
    """Return reconstructed samples with the index of their codes and the features of `fit`."""
    return _contained(samples, C, partial(_check_feature_names_in, model), model)


def _contained(values: Array, original: Any, columns: Any, model: Any) -> Any:
    adapter = _get_container_adapter("transform", model)
    if adapter is not None:
        if not callable(columns) and not adapter.is_supported_container(original):
            columns = list(map(str, columns))  # names of pandas may be anything, others are strings
        return adapter.create_container(values, original, columns)
    if not is_frame(original):
        return values
    return like(original, values, columns() if callable(columns) else columns)
