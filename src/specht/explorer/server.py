"""Serving the explorer to a browser of this machine that was given the address with the token, and to no other page in that browser.

The server listens on 127.0.0.1. In front of it every request, web sockets included, has to pass three questions: is it addressed to this
machine by its own name (so that no foreign name can be pointed here), does it come from a page of the explorer itself if it comes from a
page, and does it hold the token. The answers carry a policy that makes the browser load nothing from anywhere else.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from importlib import resources
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from specht.errors import InputError

HOST = "127.0.0.1"
HEAD = (
    '<script type="text/plain" data-status="error" src="https://cdn.jsdelivr.net/npm/mathjax-full@3.2.2/es5/tex-mml-svg.min.js"></script>'
)
"""In the head of the page: figures of marimo fetch a typesetting program unless they find it there already, and as text it is not fetched.
Should they ask for another one some day, the policy of the guard refuses it."""
PICTURES = "picture.js"
"""Beside it: what saves figures as pictures."""


def serve(port: int | None, opened: Callable[[str], None]) -> None:
    """Serve until interrupted; `opened` is called with the address, token and all, once there is somebody to answer.

    Arguments:
        port: of 127.0.0.1; any that is free unless given.
    """
    try:
        import marimo
        import uvicorn  # comes with marimo
    except ImportError:
        raise InputError("The explorer needs the library marimo, which is not installed: `pip install 'specht[explorer]'`.") from None

    listening = _listen(port)
    number = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    files = resources.files("specht.explorer")
    head = f"{HEAD}<script>{files.joinpath(PICTURES).read_text(encoding='utf-8')}</script>"
    with resources.as_file(files.joinpath("app.py")) as notebook:
        app = marimo.create_asgi_app(quiet=True, include_code=False, html_head=head).with_app(path="", root=str(notebook)).build()
        config = uvicorn.Config(Guard(app, number, token), log_level="warning", access_log=False, server_header=False)
        server = uvicorn.Server(config)
        opened(f"http://{HOST}:{number}/?{TOKEN}={token}")
        server.run(sockets=[listening])


def _listen(port: int | None) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port or 0))
        listening.listen()  # so that a browser that is opened now waits instead of giving up
    except OSError as error:
        listening.close()
        raise InputError(f"Port {port} of {HOST} cannot be used ({error.strerror}): choose another with --port, or leave it out.") from None
    return listening


TOKEN = "access_token"
"""The parameter of an address that holds the token."""
FORBIDDEN, SEE_OTHER, POLICY_VIOLATION = 403, 303, 1008
_NO_TOKEN = "This is a Specht explorer, and the address lacks its token: open the address that `specht explore` printed in the terminal."
_HEADERS = {
    "content-security-policy": "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; frame-ancestors 'none'; form-action 'self'",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """An ASGI application that lets through to another what may pass."""

    def __init__(self, app: Any, port: int, token: str) -> None:
        self._app, self._token = app, token
        self._cookie = f"specht-{port}"
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(headers)
        if refusal:
            return await _refuse(scope, send, refusal)
        query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == TOKEN]
        if scope["type"] == "http" and scope["method"] == "GET" and any(map(self._is_token, tokens)):
            rest = urlencode([pair for pair in query if pair[0] != TOKEN])
            # One slash at the beginning: two would lead to another machine.
            return await self._enter(send, f"/{quote(scope['path'].lstrip('/'))}" + (f"?{rest}" if rest else ""))
        if not self._is_token(_cookie(headers.get("cookie", ""), self._cookie)):
            return await _refuse(scope, send, _NO_TOKEN)
        return await self._app(scope, receive, _with_headers(send))

    def _refusal(self, headers: Mapping[str, str]) -> str:
        """Why a request cannot come from the explorer's own page, if it cannot."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self._hosts:
            return f"This explorer answers to {self._hosts[0]} only, not to {host[:100]!r}."
        if origin is not None and origin != f"http://{host}":
            return f"This explorer answers to its own page only, not to {origin[:100]!r}."
        return ""

    def _is_token(self, word: str) -> bool:
        return secrets.compare_digest(word.encode(), self._token.encode())

    async def _enter(self, send: Any, address: str) -> None:
        """Keep the token in a cookie that no script can read, and take it out of the address, which people copy."""
        cookie = f"{self._cookie}={self._token}; HttpOnly; SameSite=Lax; Path=/"
        headers = {"location": address, "set-cookie": cookie, "cache-control": "no-store"} | _HEADERS
        await _respond(send, SEE_OTHER, headers, "")


def _cookie(header: str, name: str) -> str:
    try:
        cookie = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return "" if cookie is None else cookie.value


async def _refuse(scope: Mapping[str, Any], send: Any, sentence: str) -> None:
    if scope["type"] == "websocket":  # closed before it opens, which the browser sees as status 403
        return await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": "refused"})
    return await _respond(send, FORBIDDEN, {"content-type": "text/plain; charset=utf-8"} | _HEADERS, sentence + "\n")


async def _respond(send: Any, status: int, headers: Mapping[str, str], text: str) -> None:
    await send({"type": "http.response.start", "status": status, "headers": _encoded(headers)})
    await send({"type": "http.response.body", "body": text.encode()})


def _with_headers(send: Any) -> Any:
    """Send answers with the headers of the guard."""

    async def passed(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            kept = [pair for pair in message.get("headers", ()) if pair[0].decode("latin-1").lower() not in _HEADERS]
            message = message | {"headers": [*kept, *_encoded(_HEADERS)]}
        await send(message)

    return passed


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
