"""Who may talk to the explorer: a browser on this machine that was given the address with the token, and no other page in that browser.

The server listens on 127.0.0.1. In front of it every request, web sockets included, has to pass three questions: is it addressed to this
machine by its own name (so that no foreign name can be pointed here), does it come from a page of the explorer itself if it comes from a
page, and does it hold the token. The answers carry a policy that makes the browser load nothing from anywhere else.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

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
