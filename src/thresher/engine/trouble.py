"""Errors of linear algebra, told in the user's terms."""

from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import ParamSpec, TypeVar

import numpy as np

from thresher.engine.stream import OVERFLOW

Given = ParamSpec("Given")
Result = TypeVar("Result")


class told_in_words:  # noqa: N801 - reads as the function that it could be
    """Where matrices cannot be inverted or decomposed, samples are to blame: say so.

    Around a block, or as a decorator of a function.
    """

    def __call__(self, function: Callable[Given, Result]) -> Callable[Given, Result]:
        """Around every call of a function."""

        @wraps(function)
        def told(*args: Given.args, **kwargs: Given.kwargs) -> Result:
            with self:
                return function(*args, **kwargs)

        return told

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
