"""specht explore: what it says before it serves."""

from __future__ import annotations

import json
import socket
import sys

import pytest

from specht.commands import explore
from specht.commands.app import main


def test_help_teaches(capsys):
    assert main(["explore", "--help"]) == 0
    assert "specht explore --no-browser --port 8765" in capsys.readouterr().out


def test_without_marimo_it_says_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "marimo", None)
    assert main(["explore"]) == 2
    assert "The explorer needs the library marimo, which is not installed: `pip install 'specht[explorer]'`." in capsys.readouterr().err


def test_a_port_that_is_taken_is_refused(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["explore", "--port", str(port)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"specht: Port {port} of 127.0.0.1 cannot be used (")
    assert said.endswith("choose another with --port, or leave it out.\n")


@pytest.mark.parametrize("port", ["0", "-1", "65536"])
def test_a_port_out_of_range_is_refused(port, capsys):
    assert main(["explore", "--port", port]) == 2
    assert "--port" in capsys.readouterr().err


def test_the_address_is_printed_and_opened(monkeypatch, capsys):
    opened = []
    monkeypatch.setattr("specht.explorer.serve", lambda port, announce: announce("http://127.0.0.1:1/?access_token=x"))
    monkeypatch.setattr(explore.threading, "Thread", lambda target, args, daemon: opened.append(args[0]) or _Idle())
    assert main(["explore"]) == 0
    assert "http://127.0.0.1:1/?access_token=x" in capsys.readouterr().out
    assert main(["explore", "--no-browser", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"command": "explore", "url": "http://127.0.0.1:1/?access_token=x"}
    assert opened == ["http://127.0.0.1:1/?access_token=x"]


def test_control_c_is_the_way_to_end_it(monkeypatch, capsys):
    def interrupted(port, announce):
        raise KeyboardInterrupt

    monkeypatch.setattr("specht.explorer.serve", interrupted)
    assert main(["explore"]) == 0
    assert capsys.readouterr().err == ""


class _Idle:
    def start(self) -> None: ...
