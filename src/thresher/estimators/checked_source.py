"""Batches of a source, checked as a model wants them."""

from collections.abc import Callable, Generator
from contextlib import closing
from typing import Any

from thresher.estimators.agreed_names import names_agree
from thresher.streams import Batch, Source


class CheckedSource:
    """A source for the engine: every piece becomes a checked batch.

    The first batch has to be looked at before learning begins, and some streams are read once, so
    the pass that it was taken from goes on where it stood.
    """

    def __init__(self, source: Source, check: Callable[[Any], Batch]) -> None:
        self._source, self._check = source, check
        self._begun: Generator[Any] | None = None
        self._first: Any = None

    @property
    def n_samples(self) -> int | None:
        """Samples in a pass, or None if nobody knows."""
        return self._source.n_samples

    def first(self, at_least: int = 0) -> Any:
        """The first piece, as it is and as long as it is; None of an empty source."""
        self._begun = self._source.pieces()
        self._first = next(self._begun, None)
        return self._first

    def batches(self, pass_index: int, skip: int) -> Generator[Batch]:
        """The batches of a pass after the first ``skip``."""
        named = self._source.names is not None
        if self._begun is not None and (pass_index, skip) == (0, 0):
            pieces, first = self._begun, self._first
            self._begun = self._first = None
        else:
            pieces, first = self._source.pieces(pass_index, skip), None
        with closing(pieces):
            if first is not None:
                yield self._checked(first, named)
                first = None
            for piece in pieces:
                yield self._checked(piece, named)

    def _checked(self, piece: Any, named: bool) -> Batch:
        with names_agree(named):
            return self._check(piece)
