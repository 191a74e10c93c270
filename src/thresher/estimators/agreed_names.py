"""Whether the names of features were compared already, before their rows were cut into batches."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_NAMES_AGREE: ContextVar[bool] = ContextVar("names_agree", default=False)


@contextmanager
def names_agree(agree: bool) -> Iterator[None]:
    """Within it, the names of features were compared already, and batches need have none."""
    token = _NAMES_AGREE.set(agree)
    try:
        yield
    finally:
        _NAMES_AGREE.reset(token)


def names_were_compared() -> bool:
    """Whether names are known to agree."""
    return _NAMES_AGREE.get()
