"""Who may talk to the explorer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from specht.explorer.server import Guard

PORT, KEY = 8765, "right"
HOST, COOKIE = f"127.0.0.1:{PORT}", f"specht-{PORT}={KEY}"


async def behind(scope, receive, send):
    """The application that is guarded."""
    if scope["type"] == "websocket":
        return await send({"type": "websocket.accept"})
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-frame", b"1"), (b"Referrer-Policy", b"unsafe-url")]})
    return await send({"type": "http.response.body", "body": b"inside"})


def ask(kind: str = "http", query: str = "", path: str = "/", method: str = "GET", **headers: str) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def send(message):
        sent.append(message)

    named = {"host": HOST} | headers
    scope = {"type": kind, "method": method, "path": path, "query_string": query.encode()}
    scope |= {"headers": [(name.encode(), value.encode()) for name, value in named.items() if value]}
    asyncio.run(Guard(behind, PORT, KEY)(scope, None, send))
    return sent


def status(sent: list[dict[str, Any]]) -> int:
    return sent[0]["status"]


def header(sent: list[dict[str, Any]], name: str) -> str:
    return next(value.decode() for key, value in sent[0]["headers"] if key.decode().lower() == name)


def test_the_token_in_the_address_becomes_a_cookie_and_leaves_the_address():
    sent = ask(query=f"page=curve&access_token={KEY}&length=8")
    assert status(sent) == 303
    assert header(sent, "location") == "/?page=curve&length=8"
    cookie = header(sent, "set-cookie")
    assert cookie.startswith(COOKIE)
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie


@pytest.mark.parametrize("path", ["//evil.example/", "/\\evil.example", "/a\r\nset-cookie: x=1"])
def test_it_leads_nowhere_else(path):
    place = header(ask(path=path, query=f"access_token={KEY}"), "location")
    assert place.startswith("/")
    assert not place.startswith(("//", "/\\"))
    assert "\n" not in place


@pytest.mark.parametrize("host", [HOST, f"localhost:{PORT}"])
def test_the_cookie_opens(host):
    sent = ask(host=host, cookie=f"other=1; {COOKIE}", origin=f"http://{host}")
    assert status(sent) == 200
    assert sent[1]["body"] == b"inside"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "the address lacks its token"),
        ({"cookie": "specht-8765=wrong"}, "the address lacks its token"),
        ({"cookie": "specht-1=right"}, "the address lacks its token"),
        ({"cookie": "a\x00;;=,"}, "the address lacks its token"),
        ({"query": "access_token=wrong"}, "the address lacks its token"),
        ({"query": "access_token="}, "the address lacks its token"),
        ({"query": f"access_token={KEY}", "method": "POST"}, "the address lacks its token"),
        ({"cookie": COOKIE, "host": f"evil.example:{PORT}"}, f"answers to {HOST} only, not to 'evil.example:8765'"),
        ({"cookie": COOKIE, "host": ""}, f"answers to {HOST} only"),
        ({"cookie": COOKIE, "origin": "http://evil.example"}, "answers to its own page only, not to 'http://evil.example'"),
        ({"cookie": COOKIE, "origin": "http://127.0.0.1:3000"}, "answers to its own page only"),
        ({"cookie": COOKIE, "origin": "null"}, "answers to its own page only"),
        ({"query": f"access_token={KEY}", "origin": "http://evil.example"}, "answers to its own page only"),
    ],
)
def test_everybody_else_is_refused_with_a_sentence(given, said):
    sent = ask(**given)
    assert status(sent) == 403
    assert said in sent[1]["body"].decode()
    assert KEY not in sent[1]["body"].decode()


@pytest.mark.parametrize("given", [{}, {"cookie": COOKIE, "origin": "http://evil.example"}, {"query": f"access_token={KEY}"}])
def test_web_sockets_are_refused_before_they_open(given):
    [message] = ask(kind="websocket", **given)
    assert message["type"] == "websocket.close"


def test_web_sockets_of_the_page_open():
    [message] = ask(kind="websocket", cookie=COOKIE, origin=f"http://{HOST}")
    assert message["type"] == "websocket.accept"


def test_answers_forbid_to_load_anything_from_elsewhere():
    sent = ask(cookie=COOKIE)
    policy = header(sent, "content-security-policy")
    assert policy.startswith("default-src 'self'")
    assert "http" not in policy
    assert "frame-ancestors 'none'" in policy
    assert header(sent, "referrer-policy") == "same-origin"  # ours, not that of the application


def test_the_start_of_the_server_is_passed_on():
    seen = []

    async def app(scope, receive, send):
        seen.append(scope["type"])

    asyncio.run(Guard(app, PORT, KEY)({"type": "lifespan"}, None, None))
    assert seen == ["lifespan"]
