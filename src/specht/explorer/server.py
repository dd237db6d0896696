"""Serving the explorer to a browser of this machine."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from importlib import resources

from specht.errors import InputError
from specht.explorer.guard import TOKEN, Guard

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
