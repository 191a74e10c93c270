"""Documents in their many forms: texts, tables of counts, and streams of either."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from numbers import Number
from textwrap import shorten
from typing import Any

import numpy as np
from scipy import sparse

from thresher.estimators.frames import is_frame
from thresher.estimators.validation import unmasked
from thresher.streams import Source, is_stream
from thresher.streams.pieces import cut, length


def is_table(documents: Any) -> bool:
    """Whether documents come as a matrix or data frame of counts."""
    is_matrix = sparse.issparse(documents) or getattr(documents, "ndim", 1) == 2
    return is_matrix or is_frame(documents)


def batches_of_stream(documents: Iterable[Any], size: int, first_size: int) -> Iterator[Any]:
    """Cut a stream into batches; no more than a batch, and one item of the stream, is held.

    Items without a document, such as a quiet hour of news, are passed over.

    Parameters
    ----------
    documents : iterable
        Of texts, of lists of texts, or of tables of counts.
    size, first_size : int
        Documents in a batch, and in the first one.
    """
    return cut(_parts_of_stream(documents), size, first_size)


def stream_of(documents: Any, size: int) -> Any:
    """Any documents as a stream of batches, which can be read as often as they can."""
    if isinstance(documents, Source):
        return documents
    if not is_stream(documents):
        return lambda: batches_of(documents if is_table(documents) else as_texts(documents), size)
    if isinstance(documents, Iterator):
        return batches_of_stream(documents, size, size)
    return lambda: batches_of_stream(documents, size, size)


def batches_of(documents: Any, size: int) -> Iterator[Any]:
    """Rows of a table, or texts of a list, in batches."""
    for start in range(0, length(documents), size):
        yield documents[start : start + size]


def _parts_of_stream(documents: Iterable[Any]) -> Iterator[Any]:
    """Lists of texts or tables of one width, not both."""
    kind, n_given = None, 0
    for item in documents() if callable(documents) else documents:
        part = _part_of_stream(item, n_given)
        width = part.shape[1] if is_table(part) else 0
        if kind is None:
            kind = width
        if bool(kind) != bool(width):
            raise ValueError("A stream must have either texts or counts all through.")
        if kind != width:
            raise ValueError("All tables of a stream need the same columns, one for each word.")
        n_given += length(part)
        yield part


def as_csr(table: Any) -> Any:
    """Counts as CSR, one row per document, of which there is at least one."""
    counts = _csr(table)
    if counts.shape[0] == 0:
        raise ValueError(_NO_DOCUMENTS)
    return counts


def as_texts(documents: Any) -> list[Any]:
    """Documents as a list, at least one; what is surely no document is refused.

    Which others are is for the vectoriser to say: most want strings, some take bytes or lists of
    words.
    """
    if isinstance(documents, str | bytes):
        raise ValueError("Give a list of documents; put brackets around a single one.")
    if isinstance(documents, Mapping):
        raise ValueError("Documents came as a dictionary; give a list, such as its values.")
    if not isinstance(documents, Iterable) or getattr(documents, "ndim", 1) == 0:
        raise ValueError(
            f"Documents are a list of texts or a table of counts, not {type(documents).__name__}."
        )
    texts = _texts(documents, 0)
    if not texts:
        raise ValueError(_NO_DOCUMENTS)
    return texts


_NO_DOCUMENTS = "There are no documents; give at least one."


def _part_of_stream(item: Any, number: int) -> Any:
    """An item of a stream as a table or a list, perhaps an empty one; ``number`` came before."""
    if is_table(item):
        return _csr(item)
    alone = isinstance(item, str | bytes) or not isinstance(item, Iterable)
    return _texts([item] if alone else item, number)


def _texts(documents: Iterable[Any], first: int) -> list[Any]:
    texts = list(documents)
    for number, text in enumerate(texts, first):
        if text is None or isinstance(text, Number):
            raise not_a_text(number, text)
    return texts


def not_a_text(number: int, found: Any) -> ValueError:
    """What is said of a document that is none."""
    shown = shorten(repr(found), 80, placeholder=" ...")
    return ValueError(
        f"Document {number} is {shown}, not a text; leave it out, or make it a string."
    )


def _csr(table: Any) -> Any:
    try:
        plain: Any = table if sparse.issparse(table) else np.asarray(unmasked(table))
        counts: Any = sparse.csr_array(plain)
        if counts.dtype.kind not in "buif":
            raise TypeError
    except (TypeError, ValueError):
        raise ValueError(
            "A table of documents must hold counts of words; for a column of texts, give only that "
            'column, such as frame["text"].'
        ) from None
    return counts
