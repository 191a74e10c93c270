"""Connections that have not shown the token: few, and not for long.

Whoever reaches the port can open connections and say nothing. They must not take the place of those
who know the token, nor stay.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from thresher.cli.live.guard import has_token

MOST_STRANGERS = 64
"""Connections without the token; the oldest is closed for a new one. Heuristic: a browser opens
six, and a request comes within milliseconds of its connection."""
MOST_KNOWN = 100
"""Connections with it."""
_TO_ASK = 10.0  # seconds to show the token; heuristic, for slow lines


def protocol_for(token: str) -> type[asyncio.Protocol]:
    """The protocol of a server, which knows its token.

    Parameters
    ----------
    token : str
        The first part of the path, as in `Guard`.
    """
    strangers: dict[asyncio.Protocol, asyncio.TimerHandle] = {}  # in the order in which they came

    class Protocol(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            strangers[self] = self.loop.call_later(_TO_ASK, self._refuse)
            if len(strangers) > MOST_STRANGERS:
                oldest: Any = next(iter(strangers))
                oldest._refuse()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self in strangers and self.scope and has_token(self.scope["path"], token):
                self._forget()

        def _forget(self) -> None:
            timer = strangers.pop(self, None)
            if timer is not None:
                timer.cancel()

        def _refuse(self) -> None:
            self._forget()
            self.transport.abort()

    return Protocol
