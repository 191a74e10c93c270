"""Who may come in: those who know the token, and ask this page itself, by a name that it has.

A page of somebody else, open in the same browser, can send requests to any address of this
machine. It does not know the token; the browser says where it comes from (``Origin``,
``Sec-Fetch-Site``); and if it has its own name point here, to seem to be the same page, the request
still bears that name (``Host``).
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.responses import PlainTextResponse

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]

_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
]


def new_token() -> str:
    """What nobody can guess."""
    return secrets.token_urlsafe(18)


class Guard:
    """Refuses requests before anything else sees them.

    Parameters
    ----------
    app : ASGI application
        Gets the path without the token.
    token : str
        The first part of the path.
    address : str
        What the server is bound to: names of loopback and this address are good names of it.
    """

    def __init__(self, app: App, token: str, address: str) -> None:
        self._app, self._token, self._address = app, token, address

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Let a request through, or say why not."""
        if scope["type"] != "http":  # nothing else is served
            return

        async def send_safely(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await PlainTextResponse(refusal, status_code=403)(scope, receive, send_safely)
            return
        rest = "/" + scope["path"].split("/", 2)[2]
        await self._app({**scope, "path": rest, "raw_path": rest.encode()}, receive, send_safely)

    def _refusal(self, scope: Scope) -> str | None:
        headers: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value.decode("latin-1"))
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or not is_own_name(hosts[0], self._address):
            return "This page answers to its own address only, as it was printed."
        origins = headers.get(b"origin", [])
        if origins and origins != [f"http://{hosts[0]}"]:
            return "This page does not answer to other pages."
        sites = headers.get(b"sec-fetch-site", [])
        follows_a_link = headers.get(b"sec-fetch-mode") == ["navigate"] and scope["method"] == "GET"
        if any(site not in ("same-origin", "none") for site in sites) and not follows_a_link:
            return "This page does not answer to other pages."
        if not has_token(scope["path"], self._token):
            return "The address lacks its token; open it whole, as it was printed."
        return None


def has_token(path: str, token: str) -> bool:
    """Whether the first part of a path is the token."""
    parts = path.split("/", 2)
    given = parts[1].encode("utf-8", "replace") if len(parts) == 3 else b""
    return secrets.compare_digest(given, token.encode())


def is_own_name(host: str, address: str) -> bool:
    """Whether a ``Host``, with or without a port, names a server that is bound to an address.

    Loopback has names of its own. A server that is bound to all addresses of a machine has any
    address, since it takes a *name* to make a browser mistake one page for another, and the name of
    the machine.
    """
    name = host_name(host)
    if name is None:
        return False
    if name in ("localhost", address.lower()):
        return True
    number = _number(name)
    if number is not None and number.is_loopback:
        return True
    bound = _number(address)
    if bound is None or not bound.is_unspecified:
        return number is not None and number == bound
    return number is not None or name == socket.gethostname().lower()


def host_name(host: str) -> str | None:
    """A ``Host`` without its port and the brackets of IPv6; None if it is no such thing."""
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        good = bracket and _is_version_6(name) and (not port or port[0] == ":")
        port = port[1:]
    else:
        name, _, port = host.partition(":")
        good = bool(name)
    return name.lower() if good and (not port or (port.isascii() and port.isdigit())) else None


def _is_version_6(name: str) -> bool:
    number = _number(name)
    return number is not None and number.version == 6


def _number(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None
