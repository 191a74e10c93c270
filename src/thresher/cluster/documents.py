"""Documents in Dask bags, series, or arrays and frames of counts: what is made of each part."""

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import dask
import dask.array as da
import numpy as np
from scipy import sparse

Work = Callable[[Any], Any]
"""What is done to the documents of a part: a list of texts, or a table."""


def by_part(documents: Any, work: Work, width: int | None = None, thin: bool = False) -> Any:
    """What some work gives for every document, as a Dask array that is not computed yet.

    Parameters
    ----------
    documents : Dask bag, series, array or data frame
    work : callable
        Gives one number a document, or a row of ``width`` numbers.
    thin : bool
        Whether these rows are CSR.
    """
    shape = (np.nan,) if width is None else (np.nan, width)
    meta: Any = np.empty(0 if width is None else (0, width))  # also what an empty part gives
    if thin:
        meta = sparse.csr_array(meta)
    shared = dask.delayed(work, pure=False, traverse=False)
    done = dask.delayed(_of_part, pure=False)
    blocks = [
        da.from_delayed(done(part, shared, meta), shape, meta=meta, dtype=np.float64)
        for part in _parts(documents)
    ]
    return da.concatenate(blocks)


def first_documents(documents: Any, count: int) -> Any:
    """The documents of the first parts, until there are so many, as a list or a table."""
    found: list[Any] = []
    for part in _parts(documents):
        found.append(_documents(dask.compute(part)[0]))
        if sum(map(_length, found)) >= count:
            break
    found = [some for some in found if _length(some)]
    if not found:
        raise ValueError("There are no documents; give at least one.")
    if not isinstance(found[0], list):
        return found[0]  # a table tells its columns at once
    return [text for some in found for text in some]


def sum_of_parts(documents: Any, work: Work) -> Any:
    """The sum of what some work gives for every part, added in the order of the parts."""
    shared = dask.delayed(work, pure=False, traverse=False)
    done = dask.delayed(_of_part, pure=False)
    parts = dask.compute(*(done(part, shared, None) for part in _parts(documents)))
    return reduce(add, [part for part in parts if part is not None])


def _parts(documents: Any) -> list[Any]:
    if getattr(documents, "ndim", 1) == 2 and not hasattr(documents, "columns"):
        documents = documents.rechunk({1: -1}) if documents.numblocks[1] > 1 else documents
    return list(np.ravel(documents.to_delayed()))


def _documents(part: Any) -> Any:
    return part if hasattr(part, "shape") and len(part.shape) == 2 else list(part)


def _length(documents: Any) -> int:
    return len(documents) if isinstance(documents, list) else int(documents.shape[0])


def _of_part(part: Any, work: Work, nothing: Any) -> Any:
    """A task: the work on a part, or ``nothing`` if it is empty."""
    documents = _documents(part)
    return work(documents) if _length(documents) else nothing
