"""A server in a thread of its own, which ends with the run."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from thresher.cli.live.board import Board
from thresher.cli.live.guard import new_token
from thresher.cli.live.wishes import Wishes

_TO_START = 10.0  # seconds
_TO_END = 2.5  # seconds; with that Ctrl-C stays below three


def split_address(address: str) -> tuple[str, int]:
    """Host and port of ``host:port``; of IPv6, ``[::1]:8000``."""
    host, colon, port = address.rpartition(":")
    good = colon and port.isascii() and port.isdigit() and int(port) < 2**16
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        good = False
    if not host or not good:
        raise ValueError(
            f"The address {address!r} is no host and port; give both, such as 127.0.0.1:8000, or "
            "127.0.0.1:0 for any port that is free."
        )
    return host, int(port)


class Server:
    """Serves a board while the learner works in another thread.

    Parameters
    ----------
    board : Board
    wishes : Wishes
    address : str
        ``host:port``; port 0 is any that is free.
    """

    def __init__(self, board: Board, wishes: Wishes, address: str) -> None:
        self._host, port = split_address(address)
        self._board, self._wishes, self._token = board, wishes, new_token()
        self._socket = _bound(self._host, port)
        self._thread = threading.Thread(target=self._run, name="thresher-live", daemon=True)
        self._server: Any = None

    @property
    def url(self) -> str:
        """The whole address, with its token."""
        port = self._socket.getsockname()[1]
        host = f"[{self._host}]" if ":" in self._host else self._host
        everywhere = {"0.0.0.0": socket.gethostname(), "[::]": socket.gethostname()}
        return f"http://{everywhere.get(host, host)}:{port}/{self._token}/"

    def __enter__(self) -> Self:
        import uvicorn

        from thresher.cli.live.app import live_app
        from thresher.cli.live.connections import MOST_KNOWN, MOST_STRANGERS, protocol_for

        config = uvicorn.Config(
            live_app(self._board, self._wishes, self._token, self._host),
            http=protocol_for(self._token), ws="none", loop="asyncio", lifespan="off",
            log_config=None, access_log=False, proxy_headers=False, server_header=False,
            limit_concurrency=MOST_KNOWN + MOST_STRANGERS, timeout_graceful_shutdown=1,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._thread.start()
        until = time.monotonic() + _TO_START
        while not self._server.started and self._thread.is_alive() and time.monotonic() < until:
            time.sleep(0.01)
        if not self._server.started:
            raise OSError(f"The live page at {self.url} could not be served.")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._board.end()
        self._server.should_exit = True
        self._thread.join(_TO_END)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._board.serve_in(asyncio.get_running_loop())
        await self._server.serve(sockets=[self._socket])


def _bound(host: str, port: int) -> socket.socket:
    """A socket at an address, taken before the run begins: it may be taken already."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
        with ExitStack() as closes:
            closes.callback(found.close)
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(place)
            closes.pop_all()
    except OSError as error:
        raise ValueError(
            f"The live page cannot be at {host}:{port} ({error.strerror or error}); give another "
            "--address, such as 127.0.0.1:0 for any port that is free."
        ) from None
    return found
