"""Which of several starts to learn from: all are tried for a few passes."""

from collections.abc import Sequence

from thresher.engine.state import StreamState, Summary
from thresher.engine.stream import Position, StreamMethod, Workers, stream
from thresher.streams import Batch, BatchSource


def best_start(
    method: StreamMethod,
    starts: Sequence[StreamState],
    source: BatchSource,
    pool: Workers,
    n_passes: int,
) -> StreamState:
    """Learn for some passes from each start; the one with the least loss in the last of them.

    With few samples it is chance whether two topics end in one atom while another is split, and no
    number of further passes parts them. After three passes the loss tells most such runs.
    The start itself is returned, not what it became, so that the run from it
    is the same as if there had been no other.
    """
    losses = []
    for start in starts:
        reached = Position()

        def remember(
            before: StreamState, after: StreamState, position: Position, *rest: Batch | Summary
        ) -> bool:
            nonlocal reached
            reached = position
            return False

        # Never settled: all starts are judged after the same number of samples.
        stream(method, start, source, pool, remember, n_passes, tol=0.0)
        losses.append(reached.next_pass().last_mean)
    return starts[losses.index(min(losses))]
