"""Errors of linear algebra, told in the user's terms."""

from contextlib import ContextDecorator
from types import TracebackType

import numpy as np

from thresher.engine.stream import OVERFLOW


class told_in_words(ContextDecorator):  # noqa: N801 - reads as the function that it could be
    """Where matrices cannot be inverted or decomposed, samples are to blame: say so.

    Around a block, or as a decorator of a function.
    """

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, np.linalg.LinAlgError):
            raise ValueError(OVERFLOW) from error
