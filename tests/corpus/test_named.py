"""Corpora by name: found where they are, never taken for something else, fetched only on request."""

from __future__ import annotations

import dataclasses
import hashlib
import http.server
import os
import socket
import sys
import threading
from pathlib import Path

import pytest

from specht.corpus.read import named
from specht.corpus.read.named import NAMED, locate, named_parts
from specht.corpus.read.text import ReadingOptions, read
from specht.errors import InputError, StorageError

DATA = Path(os.environ.get("SPECHT_DATA", Path(__file__).parents[2] / "../shared/data"))
CONTENT = b"the cat sat on the mat\n" * 100


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """No folder of corpora, an empty cache, and no way out but to this machine."""
    monkeypatch.delenv("SPECHT_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(named, "_cache", lambda pooch: tmp_path / "cache")
    return tmp_path


@pytest.fixture
def server():
    """A web server that knows one file."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            known = self.path == "/corpus.txt"
            self.send_response(200 if known else 404)
            self.send_header("Content-Length", str(len(CONTENT) if known else 0))
            self.end_headers()
            if known:
                self.wfile.write(CONTENT)

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def corpus(monkeypatch, url: str | None, content: bytes = CONTENT) -> None:
    digest = hashlib.sha256(content).hexdigest()
    entry = dataclasses.replace(NAMED["wikitext-2"], path="test/corpus.txt", sha256=digest, url=url)
    monkeypatch.setitem(NAMED, "wikitext-2", entry)


def refused(*arguments, **options) -> str:
    with pytest.raises(InputError) as caught:
        locate(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_unknown_names_get_a_suggestion():
    assert "did you mean 'wikitext-2'?" in refused("wikitext2")


@pytest.mark.parametrize("name", NAMED)
def test_every_corpus_says_what_it_is_and_how_it_is_read(name):
    entry = NAMED[name]
    assert entry.title
    assert entry.licence.endswith(".")
    assert entry.reading.tokens != "auto"
    if entry.path is not None:
        assert entry.sha256 is not None
        assert len(entry.sha256) == 64
        assert entry.url is None or (entry.url.startswith("https://") and entry.url.endswith(Path(entry.path).name))


@pytest.mark.parametrize("name", [name for name in NAMED if NAMED[name].path])
def test_files_below_the_folder_are_the_ones_meant(monkeypatch, name):
    monkeypatch.setenv("SPECHT_DATA", str(DATA))
    entry = NAMED[name]
    assert entry.path is not None
    if not (DATA / entry.path).exists():
        pytest.skip(f"the corpus {entry.path} is not below {DATA}: set SPECHT_DATA")
    assert locate(name) == DATA / entry.path
    parts, reading = named_parts(name)
    assert reading == entry.reading
    assert len(next(read(parts[0], reading)))


def test_the_standard_library_is_always_there(nowhere):
    parts, reading = named_parts("stdlib")
    assert reading == ReadingOptions("code")
    assert Path(parts[0].path).parent == locate("stdlib")


def test_without_a_file_one_learns_what_to_do(nowhere):
    assert "allow its download with --download, or put it at wikitext2/train.txt below the folder" in refused("wikitext-2")
    assert "has no public address: put it at gutenberg_en/moby_dick.txt" in refused("moby-dick", download=True)


def test_no_connection_without_permission(nowhere, monkeypatch):
    def forbidden(*arguments, **options):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", forbidden)
    assert "allow its download" in refused("ecoli-genome")


def test_another_file_of_the_same_name_is_refused(nowhere, monkeypatch):
    corpus(monkeypatch, None)
    monkeypatch.setenv("SPECHT_DATA", str(nowhere))
    (nowhere / "test").mkdir()
    (nowhere / "test/corpus.txt").write_bytes(CONTENT)
    assert locate("wikitext-2") == nowhere / "test/corpus.txt"
    (nowhere / "test/corpus.txt").write_bytes(CONTENT + b"!")
    sentence = refused("wikitext-2")
    assert "is not the corpus wikitext-2" in sentence
    assert hashlib.sha256(CONTENT + b"!").hexdigest()[:12] in sentence


def test_a_download_is_kept_and_checked(nowhere, monkeypatch, server):
    pytest.importorskip("pooch", reason="the library pooch is not installed")
    corpus(monkeypatch, f"{server}/corpus.txt")
    path = locate("wikitext-2", download=True)
    assert path.read_bytes() == CONTENT
    corpus(monkeypatch, "http://127.0.0.1:9/never-asked")
    assert locate("wikitext-2") == path
    assert locate("wikitext-2", download=True) == path
    path.write_bytes(b"damaged")
    assert "is not the corpus wikitext-2" in refused("wikitext-2", download=True)


def test_a_download_with_another_content_leaves_nothing_behind(nowhere, monkeypatch, server):
    pytest.importorskip("pooch", reason="the library pooch is not installed")
    corpus(monkeypatch, f"{server}/corpus.txt", b"something else")
    assert "its SHA-256 differs" in refused("wikitext-2", download=True)
    assert [file for file in nowhere.rglob("*") if file.is_file()] == []


def test_servers_that_do_not_help_get_a_sentence(nowhere, monkeypatch, server):
    pytest.importorskip("pooch", reason="the library pooch is not installed")
    corpus(monkeypatch, f"{server}/elsewhere.txt")
    assert "(status 404)" in refused("wikitext-2", download=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        corpus(monkeypatch, f"http://127.0.0.1:{free.getsockname()[1]}/corpus.txt")
        assert "cannot be downloaded from http://127.0.0.1" in refused("wikitext-2", download=True)
    assert [file for file in nowhere.rglob("*") if file.is_file()] == []


def test_a_cache_that_takes_no_files_gets_a_sentence(nowhere, monkeypatch, server):
    pytest.importorskip("pooch", reason="the library pooch is not installed")
    corpus(monkeypatch, f"{server}/corpus.txt")
    (nowhere / "cache").write_text("a file where the folder should be")
    with pytest.raises(StorageError, match="cannot be kept in"):
        locate("wikitext-2", download=True)


def test_without_the_library_one_learns_what_to_install(nowhere, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert "allow its download" in refused("wikitext-2")
    assert "pip install 'specht[corpora]'" in refused("wikitext-2", download=True)
