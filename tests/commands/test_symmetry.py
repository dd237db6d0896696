"""specht symmetry from flags to files."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import xarray

import specht
from specht.commands.app import main
from specht.commands.symmetry.compute import Prepared, run_symmetry
from specht.corpus.measuring import count_all, describe, findings
from specht.corpus.read.parts import default_parts
from specht.corpus.survey import SurveySettings, plan_survey, take_census
from specht.lab.archive import Archive
from specht.lab.executors import Places, dask_cluster, local_processes, this_process

SMALL = ["--length", "8", "--lengths", "4", "--no-nulls"]


def chain(tokens: int, seed: int = 0) -> str:
    """Words of a Markov chain that likes to stay."""
    rng = np.random.default_rng(seed)
    moves = rng.random(tokens) < 0.4
    states = np.where(moves, rng.integers(6, size=tokens), -1)
    for place in range(1, tokens):
        if states[place] < 0:
            states[place] = states[place - 1]
    return " ".join(f"w{max(state, 0)}" for state in states)


@pytest.fixture
def text(tmp_path) -> Path:
    path = tmp_path / "chain.txt"
    path.write_text(chain(12_000))
    return path


def test_writes_what_it_says(capsys, tmp_path, text):
    assert main(["symmetry", "chain.txt", "--length", "8", "--lengths", "4"]) == 0
    out = capsys.readouterr().out
    for words in ("chain.txt", "score", "distance", "direction", "order"):
        assert words in out
    (folder,) = (tmp_path / "specht-results").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "report.html", "result.json", "symmetry.csv", "symmetry.nc"]
    rows = list(csv.DictReader((folder / "symmetry.csv").read_text().splitlines()))
    assert [(row["length"], row["null"]) for row in rows] == [("4", ""), ("8", ""), ("8", "window"), ("8", "global")]
    with xarray.open_datatree(folder / "symmetry.nc", engine="h5netcdf") as data:
        scores = data["corpora/lengths"].to_dataset()
        assert scores["length"].values.tolist() == [4, 8]
        assert float(scores["score"][1]) == pytest.approx(float(rows[1]["score"]), rel=1e-12)
        assert data["corpora/lags"]["rms"].size == 7


def test_json_is_the_contract(run_json, text):
    found = run_json("symmetry", "chain.txt", "--length", "8", "--lengths", "4", "--vocab", "6")
    assert {"command", "config", "seed", "version", "report", "data", "corpora"} <= set(found)
    (corpus,) = found["corpora"]
    assert {"name", "score", "low", "high", "distance", "direction", "rms", "defined"} <= set(corpus)
    assert corpus["defined"] is True
    assert corpus["score"] + corpus["distance"] + corpus["direction"] == pytest.approx(1.0, abs=1e-12)
    assert corpus["low"] < corpus["score"] < corpus["high"]
    assert corpus["nulls"]["window"]["low"] <= 1.0 <= corpus["nulls"]["window"]["high"]
    assert corpus["nulls"]["global"]["defined"] is False
    assert corpus["nulls"]["global"]["score"] is None
    assert json.dumps(found)  # plain values only


def test_agrees_with_the_library(run_json, text):
    found = run_json("symmetry", "chain.txt", *SMALL)["corpora"][0]
    same = specht.corpus.score(text, length=8)
    assert (found["score"], found["low"], found["high"]) == (same.score, same.low, same.high)


def test_sorts_corpora_by_score_and_keeps_undefined_ones_last(run_json, tmp_path, text):
    rng = np.random.default_rng(3)
    np.save(tmp_path / "noise.npy", rng.integers(6, size=12_000))
    coins = rng.choice([0.1, 0.9], size=(1500, 1))
    np.save(tmp_path / "coins.npy", (rng.random((1500, 8)) < coins).astype(np.int16))
    found = run_json("symmetry", "noise.npy", "chain.txt", "coins.npy", *SMALL)["corpora"]
    assert [corpus["name"] for corpus in found] == ["coins.npy", "chain.txt", "noise.npy"]
    assert found[0]["low"] <= 1.0 <= found[0]["high"]
    assert found[2]["defined"] is False


def test_a_tokenisation_may_stand_before_each_corpus(run_json, text):
    found = run_json("symmetry", "chain.txt", "char:chain.txt", *SMALL)["corpora"]
    assert {corpus["name"]: corpus["tokens"] for corpus in found} == {"chain.txt": "word", "char:chain.txt": "char"}
    assert {corpus["name"]: corpus["vocab"] for corpus in found} == {"chain.txt": 6, "char:chain.txt": 8}


def test_standard_input_and_gzip_and_folders_are_the_same_text(run_json, tmp_path, text, monkeypatch):
    (tmp_path / "packed.txt.gz").write_bytes(gzip.compress(text.read_bytes()))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "part.txt").write_text(text.read_text())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.read_bytes())))
    found = run_json("symmetry", "chain.txt", "packed.txt.gz", "folder", "-", *SMALL)["corpora"]
    assert len(found) == 4
    assert len({(corpus["score"], corpus["low"]) for corpus in found}) == 1


@pytest.mark.parametrize("modules", [6, pytest.param(None, marks=pytest.mark.whole)])
def test_the_default_is_the_standard_library(run_json, modules, monkeypatch):
    """All of it, and the part that begins with its first modules."""
    if modules is not None:
        monkeypatch.setattr("specht.corpus.read.named.default_parts", lambda: default_parts()[:modules])
    (corpus,) = run_json("symmetry", "--no-nulls", "--length", "16", "--lengths", "8", "--vocab", "100")["corpora"]
    assert (corpus["name"], corpus["tokens"]) == ("stdlib", "code")
    assert corpus["n_tokens"] > (300_000 if modules is None else 10_000)
    assert 0.1 < corpus["score"] < 0.9


def test_trains_a_byte_pair_encoding(run_json, tmp_path):
    pytest.importorskip("tokenizers")
    (tmp_path / "text.txt").write_text("\n".join(chain(40, seed) for seed in range(300)))
    (corpus,) = run_json("symmetry", "text.txt", "--tokens", "bpe", *SMALL)["corpora"]
    assert corpus["tokens"] == "bpe"
    assert corpus["defined"]
    (tokenizer,) = tmp_path.glob("specht-results/*/tokenizer-1.json")
    again = run_json("symmetry", "text.txt", "--tokens", "bpe", "--tokenizer", str(tokenizer), *SMALL)["corpora"][0]
    assert again["score"] == corpus["score"]


def test_a_tokenizer_trained_in_vain_is_not_left_behind(capsys, tmp_path):
    pytest.importorskip("tokenizers")
    (tmp_path / "text.txt").write_text("\n".join(chain(40, seed) for seed in range(300)))
    flags = ["symmetry", "text.txt", "--tokens", "bpe", "--records", "line", "--length", "512"]
    for _ in range(2):
        assert main(flags) == 2
        assert "A window of 512 tokens is longer than any record" in capsys.readouterr().err
        assert not list(tmp_path.glob("specht-results/*/*.json"))


def test_users_without_a_name_can_use_it(run_json, text, monkeypatch):
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda number: {}[number])
    assert run_json("symmetry", "chain.txt", *SMALL)["corpora"][0]["defined"]


def test_results_are_those_of_the_content(capsys, text):
    assert main(["symmetry", "chain.txt", *SMALL]) == 0
    assert main(["symmetry", "chain.txt", *SMALL]) == 0
    assert "computed before" in capsys.readouterr().err
    text.write_text(chain(12_000, seed=1))
    assert main(["symmetry", "chain.txt", *SMALL]) == 0
    assert "computed before" not in capsys.readouterr().err


BAD = [
    ("binary.txt", b"a\x00b", [], "binary data"),
    ("empty.txt", b"", [], "is empty"),
    ("latin.txt", b"caf\xe9 au lait " * 2000, [], "byte 0xe9 at offset 3"),
    ("one.txt", b"hello", [], "has 1 token"),
    ("same.txt", b"a " * 5000, [], "one type of token only"),
    ("short.txt", b"a b c d e\n" * 3000, ["--records", "line"], "longer than any record, the longest of which has 5"),
    ("few.txt", b"a b c d e\n" * 3000, ["--vocab", "50"], "5 types of token, fewer than a vocabulary of 50"),
    ("tiny.txt", b"a b c d e f g h\n" * 10, [], "too few for 16 blocks"),
    ("wrong.txt", b"a b\n" * 5000, ["--tokens", "wrod"], "did you mean 'word'"),
    ("eight.txt", b"a b c\n" * 5000, ["--encoding", "utf-16"], "is not utf-16 text"),
    ("letters.txt", b"abc\xff" * 5000, ["--tokens", "kmer8"], "from 1 to 7"),
    ("front.txt", b"a b c d e f g h\n" * 40 + b"a b\n" * 5000, ["--records", "line", "--length", "8", "--lengths", "4"], "of 16 blocks"),
]


@pytest.mark.parametrize(("name", "content", "flags", "sentence"), BAD, ids=[name for name, *_ in BAD])
def test_bad_corpora_get_a_sentence_and_leave_nothing(refuses, tmp_path, name, content, flags, sentence):
    (tmp_path / name).write_bytes(content)
    refuses(["symmetry", name, *flags], sentence)


@pytest.mark.parametrize("words", [["nothere.txt"], ["x*.txt"], ["wikitext-2"], ["a.txt", "a.txt"], ["a.txt", "--length", "1"]])
def test_bad_names_get_a_sentence(capsys, tmp_path, words, monkeypatch):
    monkeypatch.delenv("SPECHT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # where downloads are kept
    (tmp_path / "a.txt").write_text("a b " * 5000)
    assert main(["symmetry", *words]) == 2
    assert capsys.readouterr().err.startswith("specht: ")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_tokens_before_a_corpus_win_over_bpe(run_json, tmp_path):
    pytest.importorskip("tokenizers")
    (tmp_path / "text.txt").write_text("\n".join(chain(40, seed) for seed in range(300)))
    mixed = run_json("symmetry", "char:text.txt", "bpe:text.txt", *SMALL)["corpora"]
    same = run_json("symmetry", "char:text.txt", "text.txt", "--tokens", "bpe", *SMALL)["corpora"]
    alone = run_json("symmetry", "char:text.txt", *SMALL)["corpora"]
    assert {corpus["tokens"]: corpus["score"] for corpus in mixed} == {corpus["tokens"]: corpus["score"] for corpus in same}
    assert alone[0]["score"] in [corpus["score"] for corpus in mixed if corpus["tokens"] == "char"]


def test_another_tokenizer_under_the_same_name_is_another_result(run_json, tmp_path):
    pytest.importorskip("tokenizers")
    from specht.corpus.read.tokenise import train_bpe

    (tmp_path / "text.txt").write_text("\n".join(chain(40, seed) for seed in range(300)))
    flags = ["symmetry", "text.txt", "--tokens", "bpe", "--tokenizer", "tok.json", "--store", "kept", *SMALL]
    numbers = []
    for types in (256, 300):
        (tmp_path / "tok.json").write_text(train_bpe([(tmp_path / "text.txt").read_text()], types))
        numbers.append(run_json(*flags, "--out", f"out-{types}")["corpora"][0]["n_tokens"])
    assert numbers[0] > numbers[1]


def test_standard_input_may_be_read_in_several_ways(run_json, text, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.read_bytes())))
    found = run_json("symmetry", "-", "char:-", "chain.txt", "char:chain.txt", *SMALL)["corpora"]
    scores = {corpus["name"]: corpus["score"] for corpus in found}
    assert (scores["-"], scores["char:-"]) == (scores["chain.txt"], scores["char:chain.txt"])


def test_longer_windows_may_be_asked_for(run_json, text):
    (corpus,) = run_json("symmetry", "chain.txt", "--length", "8", "--lengths", "24", "4", "--no-nulls")["corpora"]
    assert [score["length"] for score in corpus["lengths"]] == [4, 8, 24]
    assert corpus["length"] == 8
    assert corpus["lengths"][2]["score"] == specht.corpus.score(text, length=24).score


@pytest.mark.parametrize("rows", ["pairs", "constant", "periodic"])
def test_corpora_without_blocks_to_compare_have_scores_all_the_same(run_json, tmp_path, rows):
    rng = np.random.default_rng(0)
    same = rng.integers(0, 5, (3000, 1))
    ids = {"pairs": np.repeat(same, 2, axis=1), "constant": np.repeat(same, 16, axis=1), "periodic": np.tile([0, 1], (2000, 8))}[rows]
    np.save(tmp_path / "rows.npy", ids)
    (corpus,) = run_json("symmetry", "rows.npy", "--length", str(ids.shape[1]), "--lengths", "2", "--no-nulls")["corpora"]
    assert corpus["defined"]
    if rows != "periodic":
        assert corpus["score"] == pytest.approx(1.0, abs=1e-6)


def test_figures_of_scores_near_one_can_be_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    np.save(tmp_path / "repeated.npy", np.repeat(rng.integers(0, 3, 4000), 10))
    np.save(tmp_path / "noise.npy", rng.integers(0, 3, 40_000))
    assert main(["symmetry", "repeated.npy", "noise.npy", "--length", "2", "--figures", "png"]) == 0
    assert list(tmp_path.glob("specht-results/*/figure-*.png"))


def test_a_mixed_folder_says_so(run_json, tmp_path, text):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text(text.read_text())
    (tmp_path / "folder" / "b.py").write_text("x = 1\nfor y in range(x):\n    print(x, y)\n" * 500)
    (corpus,) = run_json("symmetry", "folder", *SMALL)["corpora"]
    assert corpus["tokens"] == "code and word"


def test_lists_the_corpora_that_have_names(capsys, run_json, monkeypatch, tmp_path):
    monkeypatch.delenv("SPECHT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main(["symmetry", "--list"]) == 0
    assert "CC BY-SA 3.0" in capsys.readouterr().out
    where = {corpus["name"]: corpus["where"] for corpus in run_json("symmetry", "--list")["corpora"]}
    assert (where["stdlib"], where["wikitext-2"], where["moby-dick"]) == ("here", "by --download", "to be put there by you")


def large(folder: Path, times: int = 200) -> None:
    """Files of several batches, so that statistics have to travel."""
    for number in range(3):
        np.save(folder / f"part-{number}.npy", np.array([int(word[1:]) for word in chain(3000, number).split()] * times))


SEVERAL = SurveySettings(length=8, lengths=(4,), extras=("influence", "isotypic", "third", "harmonics"), batch=2**14)


def test_batches_are_added_up(tmp_path):
    """Statistics that came through files are those of the whole corpus counted at once."""
    large(tmp_path, times=10)
    corpus = specht.corpus.open_corpus(tmp_path / "part-*.npy")
    (alone,) = run_symmetry([Prepared(corpus, corpus.fingerprint())], SEVERAL, False, Archive(tmp_path / "alone"), this_process)
    survey = plan_survey(corpus, SEVERAL, take_census(corpus, range(3)))
    assert len(survey.batches) == 3
    assert alone == describe(survey, findings(count_all(survey))) | {"nulls": alone["nulls"]}


@pytest.mark.whole
@pytest.mark.parametrize("place", ["processes", "dask"])
def test_other_processes_give_the_same_numbers(tmp_path, place):
    large(tmp_path, times=10)
    corpus = specht.corpus.open_corpus(tmp_path / "part-*.npy")
    prepared = [Prepared(corpus, corpus.fingerprint())]
    alone = run_symmetry(prepared, SEVERAL, place == "dask", Archive(tmp_path / "alone"), this_process)
    with contextlib.ExitStack() as stack:
        places: Places = partial(local_processes, 2)
        if place == "dask":
            distributed = pytest.importorskip("distributed")
            cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0")
            places = partial(dask_cluster, stack.enter_context(cluster).scheduler_address)
        others = run_symmetry(prepared, SEVERAL, place == "dask", Archive(tmp_path / "others"), places)
    assert others == alone


WATCHED = """
import sys
from specht.commands.app import main
from specht.lab.archive import Archive

keep = Archive.save

def save(self, job, *rest):
    with open("saved", "a") as file:
        print(job.digest, file=file)
    keep(self, job, *rest)

Archive.save = save
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""


def test_an_interrupted_run_goes_on(run_json, text, monkeypatch):
    """What is finished is not done again, and a run in between that cannot work at all costs none of it."""
    words = ["symmetry", "chain.txt", "--length", "8", "--lengths", "4", "--workers", "0"]
    save, saved = Archive.save, []

    def keep(self, job, *rest):
        if len(saved) == 2:
            raise KeyboardInterrupt
        save(self, job, *rest)
        saved.append(job.digest)

    monkeypatch.setattr(Archive, "save", keep)
    monkeypatch.setattr("specht.lab.executors._PATIENCE", "1s")
    assert main(words) == 130
    assert main([*words[:-2], "--cluster", "tcp://127.0.0.1:9"]) == 2
    later = []
    monkeypatch.setattr(Archive, "save", lambda self, job, *rest: later.append(job.digest) or save(self, job, *rest))
    again = run_json(*words)["corpora"]
    assert later
    assert not set(later) & set(saved)
    assert again == run_json(*words, "--out", "alone")["corpora"]


@pytest.mark.whole
def test_a_killed_run_goes_on(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    large(folder)
    words = [sys.executable, "-m", "specht", "symmetry", "parts", "--length", "8", "--lengths", "4", "--workers", "1"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    kept = []
    while process.poll() is None and len(kept) < 2:
        time.sleep(0.05)
        kept = list(tmp_path.glob("specht-results/symmetry-*/jobs/*.json"))
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("specht-results/symmetry-*/jobs/*.json")}
    assert before  # otherwise it was over before it was killed
    # What keeps the other jobs from being done fails, and must not cost what has been.
    lost = subprocess.run([*words[:-2], "--cluster", "tcp://127.0.0.1:9"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (lost.returncode, "No Dask scheduler answers" in lost.stderr) == (2, True)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    (tmp_path / "watched.py").write_text(WATCHED)
    again = [sys.executable, "watched.py", *words[3:], "--json"]
    done = subprocess.run(again, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["corpora"][0]["defined"]
    saved = (tmp_path / "saved").read_text().split()
    assert saved  # there was something left to do
    assert not {path.stem for path in before} & set(saved)
    assert not list(tmp_path.glob("specht-results/symmetry-*/jobs"))  # what has been used up is taken away
