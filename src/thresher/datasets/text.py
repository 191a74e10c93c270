"""Corpora as word counts, from files that the user has."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .files import find_data_file

FILES = {"bbc_news": "bbc_news.npz", "20newsgroups": "20newsgroups_counts.npz"}
"""File of each corpus."""

_KEYS = ("data", "indices", "indptr", "shape", "vocab", "label", "label_names")


@dataclass(frozen=True, eq=False)
class TextCounts:
    """Documents as counts of words, with the category of each.

    Attributes
    ----------
    counts : CSR array of int64, shape (n_documents, n_words)
        How often each document has each word; some documents may have none.
    vocabulary : ndarray of str, shape (n_words,)
        The word of each column.
    labels : ndarray of int64, shape (n_documents,)
        Number of each document's category.
    label_names : ndarray of str
        Name of each category.
    """

    counts: Any
    vocabulary: NDArray[np.str_]
    labels: NDArray[np.int64]
    label_names: NDArray[np.str_]


def load_text_counts(name: str, path: str | Path | None = None) -> TextCounts:
    """Load a corpus of news as word counts.

    The files are not part of the library, for their texts belong to others.

    Parameters
    ----------
    name : {"bbc_news", "20newsgroups"}
        BBC News (2225 documents, 9635 stems, 5 categories; ``bbc_news.npz``) or 20 Newsgroups
        (18 846 documents, 12 784 words, 20 categories; ``20newsgroups_counts.npz``).
    path : str or Path, optional
        The file, or the folder that has it; by default the folder that the environment variable
        ``THRESHER_DATA`` names.

    Returns
    -------
    TextCounts
        ``counts``, ``vocabulary``, ``labels`` and ``label_names``.

    Notes
    -----
    A file holds a CSR matrix (``data``, ``indices``, ``indptr``, ``shape``), the words ``vocab`` of
    its columns, the ``label`` of each row, and ``label_names``; it is read without pickle.

    D. Greene and P. Cunningham, "Practical solutions to the problem of diagonal dominance in kernel
    document clustering", ICML 2006; K. Lang, "NewsWeeder: learning to filter netnews", ICML 1995.
    """
    if name not in FILES:
        names = ", ".join(map(repr, FILES))
        raise ValueError(f"name={name!r} is not known; use one of {names}.")
    file = find_data_file(FILES[name], path)
    try:
        with np.load(file, allow_pickle=False) as stored:
            part = {key: stored[key] for key in _KEYS}
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{file} is not a corpus: it needs the arrays {', '.join(_KEYS)} in NumPy's npz format."
        ) from error
    # Files keep small counts in bytes, which would overflow in sums.
    n_documents, n_words = map(int, part["shape"])
    counts = sparse.csr_array(
        (part["data"].astype(np.int64), part["indices"], part["indptr"]),
        shape=(n_documents, n_words),
    )
    return TextCounts(
        counts, part["vocab"].astype(str), part["label"].astype(np.int64), part["label_names"]
    )
