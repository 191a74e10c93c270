"""Documents in their many forms: texts, tables of counts, and streams of either."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np
from scipy import sparse

from thresher.estimators.inputs import unmasked


def is_table(documents: Any) -> bool:
    """Whether documents come as a matrix or data frame of counts."""
    return sparse.issparse(documents) or getattr(documents, "ndim", 1) == 2


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
    held: list[Any] = []
    n_held, n_given, wanted = 0, 0, first_size
    for item in documents:
        part = _part_of_stream(item, n_given)
        if held and is_table(part) != is_table(held[0]):
            raise ValueError("A stream must have either texts or counts all through.")
        if _length(part) == 0:
            continue
        held.append(part)
        n_held, n_given = n_held + _length(part), n_given + _length(part)
        if n_held < wanted:
            continue
        joined, start = _joined(held), 0
        while n_held - start >= wanted:
            yield joined[start : start + wanted]
            start, wanted = start + wanted, size
        held, n_held = [joined[start:]] if start < n_held else [], n_held - start
    if held:
        yield _joined(held)


def batches_of(documents: Any, size: int) -> Iterator[Any]:
    """Rows of a table, or texts of a list, in batches."""
    for start in range(0, _length(documents), size):
        yield documents[start : start + size]


def _joined(parts: Sequence[Any]) -> Any:
    if is_table(parts[0]):
        if len({part.shape[1] for part in parts}) > 1:
            raise ValueError("All tables of a stream need the same columns, one for each word.")
        return sparse.vstack(parts, format="csr")
    return [text for part in parts for text in part]


def _length(documents: Any) -> int:
    return int(documents.shape[0]) if is_table(documents) else len(documents)


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
            raise ValueError(
                f"Document {number} is {text!r}, not a text; leave it out, or make it a string."
            )
    return texts


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
