"""Errors of linear algebra, told in the user's terms."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from thresher.engine.stream import OVERFLOW


@contextmanager
def told_in_words() -> Iterator[None]:
    """Where matrices cannot be inverted or decomposed, samples are to blame: say so.

    Around a block, or as a decorator of a function.
    """
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise ValueError(OVERFLOW) from error
