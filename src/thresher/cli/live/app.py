"""What the server answers: the page, the stream of events, and what the buttons ask for.

Nothing else: no file of the disk has an address here, and no path comes from a browser.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from thresher.cli.live.board import MOST_READERS, Board, PageConnection
from thresher.cli.live.guard import App, Guard
from thresher.cli.live.page import POLICY, page
from thresher.cli.live.wishes import Wish, Wishes

_BEAT = 4.0  # seconds between two signs of life; the page waits for three of them
_PATIENCE = 30.0  # seconds for one message, after which a reader that takes nothing is let go
_LONGEST = 2000  # bytes of a wish


def live_app(board: Board, wishes: Wishes, token: str, address: str) -> App:
    """The application, behind its guard.

    Parameters
    ----------
    board : Board
        What is shown.
    wishes : Wishes
        Where the buttons put what is asked for.
    token, address : str
        As in `Guard`.
    """

    async def show(request: Request) -> Response:
        return HTMLResponse(page(), headers={"content-security-policy": POLICY})

    async def follow(request: Request) -> Response:
        if board.n_readers >= MOST_READERS:
            return PlainTextResponse("Too many pages are open; close some.", status_code=503)
        return _Events(board)

    async def ask(request: Request) -> Response:
        wish = await _wish_of(request)
        if wish is None:
            return PlainTextResponse("This is nothing that can be asked for.", status_code=400)
        if board.ended or not wishes.put(wish):
            return PlainTextResponse("Nobody can do this now; try again.", status_code=503)
        return Response(status_code=202)

    routes = [
        Route("/", show, methods=["GET"]),
        Route("/events", follow, methods=["GET"]),
        Route("/wish", ask, methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes), token, address)


async def _wish_of(request: Request) -> Wish | None:
    """What a button asks for, or None. JSON only: pages of others cannot send it unasked."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return None
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _LONGEST:
            return None
    try:
        return Wish.of(json.loads(body))
    except (ValueError, RecursionError):
        return None


class _Events(Response):
    """The stream of events of one page, until it is closed or the program ends."""

    media_type = "text/event-stream"

    def __init__(self, board: Board) -> None:
        super().__init__()
        self._board = board

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        # Proxies would otherwise gather events until there are many.
        headers.append((b"x-accel-buffering", b"no"))
        with self._board.reader() as reader:
            closed = asyncio.ensure_future(_until_closed(receive))
            closed.add_done_callback(lambda _: reader.news.set())
            try:
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                while not closed.done():
                    ended = self._board.ended  # before the last news, not while they are sent
                    await self._send_news(reader, send)
                    if ended:
                        await _send(send, b"", last=True)
                        return
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(_BEAT):
                            await reader.news.wait()
            except TimeoutError:  # it takes nothing; its browser asks again if it wants to
                return
            finally:
                closed.cancel()

    async def _send_news(self, reader: PageConnection, send: Any) -> None:
        news = reader.take(self._board)
        await _send(send, b"".join(news) or self._board.beat())


async def _send(send: Any, body: bytes, last: bool = False) -> None:
    message = {"type": "http.response.body", "body": body, "more_body": not last}
    async with asyncio.timeout(_PATIENCE):
        await send(message)


async def _until_closed(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
