"""The command line: exit codes, sentences, and a quick start."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import specht
from specht.commands import command, doctor
from specht.commands.app import COMMANDS, app, main
from specht.commands.command import CACHE_VARIABLE, THRESHOLD_VARIABLE, machine_key, use_compilation_cache


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == specht.__version__


def test_help_teaches(capsys):
    for arguments in ([], ["--help"]):
        assert main(arguments) == 0
        out = capsys.readouterr().out
        assert "specht kernel --preset lecun" in out
        assert "specht spectrum --source graded" in out
        assert "specht profile parity" in out
        assert "doctor" in out
    assert main(["kernel", "--help"]) == 0
    out = capsys.readouterr().out
    for flag in ("--preset", "--arch", "--values-see-positions", "--s-w", "--relative-error", "--tokens", "--out", "--json", "--npz"):
        assert flag in out


def test_list_presets(capsys):
    assert main(["kernel", "--list-presets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(specht.PRESETS)
    assert main(["kernel", "--list-presets", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["presets"]) == list(specht.PRESETS)


BAD_INPUT = {
    "kernell": 'Unknown command "kernell". Did you mean "kernel"?',
    "kernel --lenght 8": "Unknown option: --lenght. Did you mean --length?",
    "kernel stray": "'stray' belongs to no flag",
    "kernel --n 0": "--n must be greater than 0, got '0'.",
    "kernel --n many": "--n must be a valid integer, got 'many'.",
    "kernel --heads 0": "--heads must be greater than 0, got '0'.",
    "kernel --seed=-1": "--seed must be greater than or equal to 0, got '-1'.",
    "kernel --relative-error 2": "--relative-error must be less than 1, got '2'.",
    "kernel --attention sotfmax": "Unknown value of --attention 'sotfmax': did you mean 'softmax'?",
    "kernel --preset sotfmax": "Unknown preset 'sotfmax': did you mean 'softmax'?",
    "kernel --preset lecun --arch erf": "give one of them",
    "kernel --arch cuasal": "Unknown word of notation 'cuasal': did you mean 'causal'?",
    "kernel --s-p=-1": "s_p is a variance and must be finite and not negative, got -1.0.",
    "kernel --vocab 0": "vocab must be a whole number of at least 1, got 0.",
    "kernel --tokens none.npy": "none.npy cannot be read",
    "kernel --scaling untied": "use scaling='sqrt'",
    "kernel --scaling untied --out a/b/c": "use scaling='sqrt'",
    "kernel --arch=": "--arch is empty",
    "kernel --preset=": "Unknown preset ''",
    "kernel --n 5 --tokens mine.npy": "--n 5 draws sequences and --tokens mine.npy reads them: give one of the two.",
    "kernel --n 1000000000000": "2 matrices of 1000000000000 x 1000000000000 in float64 need",
    "kernel --n 5 --out /dev/null/here": "cannot be written to (Not a directory)",
    "spectrum --lengths": "--lengths is empty: write for example --lengths 4 8 16",
    "spectrum --lengths 8 4": "--lengths must increase, got 8 4",
    "spectrum --lengths 4 4": "--lengths must increase, got 4 4",
    "spectrum --lengths 4 many": "--lengths must be a valid integer, got 'many'.",
    "spectrum --lengths 0 4": "--lengths must be greater than 0, got '0'.",
    "spectrum --lengths 4 8 --length 8": "--length 8 and --lengths 4 8 both say how long the context is: give one of them.",
    "spectrum --length 0": "length must be a whole number of at least 1, got 0.",
    "spectrum --method liner": "Unknown value of --method 'liner': did you mean 'linear'?",
    "spectrum --source unifrm": "Unknown value of --source 'unifrm': did you mean 'uniform'?",
    "spectrum --kind both": "Unknown value of --kind 'both'",
    "spectrum --source graded --epsilon 1.5": "--epsilon must be less than or equal to 1, got '1.5'.",
    "spectrum --epsilon 0.5": "--epsilon 0.5 says nothing about --source uniform: leave it out, or add --source graded.",
    "spectrum --source generic --epsilon 0.5": "--epsilon 0.5 says nothing about --source generic",
    "spectrum --components 3": "--components 3 says nothing about --source uniform: leave it out, or add --source mixture,",
    "spectrum --source graded --hidden 1": "every component has a single hidden state",
    "spectrum --max-level=-1": "--max-level must be greater than or equal to 0, got '-1'.",
    "spectrum --sequences 1": "--sequences must be greater than 1, got '1'.",
    "spectrum --method linear --activation erf": "Method 'linear' is for one block of linear attention with a linear activation",
    "spectrum --method two-tokens --vocab 3": "is for vocab=2, and this architecture has 3",
    "spectrum --method young --activation erf --lengths 4 40": "contingency tables of 4 tokens at length 40 do not fit",
    "spectrum --method linear --source generic --length 4": "needs an exchangeable source",
    "spectrum --depth 2 --causal --activation erf": "changes when positions are permuted, because of its causal mask",
    "spectrum --scaling untied --out a/b": "use scaling='sqrt'",
}


@pytest.mark.parametrize(("line", "sentence"), BAD_INPUT.items())
def test_bad_input_is_one_sentence_and_code_2(line, sentence, refuses):
    refuses(line, sentence)


def fail_with(error: BaseException):
    def command(*_, **__):
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (RuntimeError("out of luck"), 1, ["Traceback", "RuntimeError: out of luck"]),
        (KeyboardInterrupt(), 130, ["specht: interrupted"]),
        (specht.InputError("This is wrong."), 2, ["specht: This is wrong."]),
    ],
)
def test_failures_have_their_codes(monkeypatch, capsys, error, code, words):
    monkeypatch.setattr("specht.commands.kernel.KernelCommand.compute", fail_with(error))
    assert main(["kernel"]) == code
    err = capsys.readouterr().err
    assert all(word in err for word in words)
    assert ("Traceback" in err) == (code == 1)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_they_say(name):
    home, _, sentence = COMMANDS[name]
    module, held = home.split(":")
    command = getattr(importlib.import_module(module), held)
    assert (command.help if name == "runs" else command.__doc__).splitlines()[0] == sentence


def test_the_list_of_commands_loads_none_of_them(capsys):
    code = (
        "import sys; from specht.commands.app import main; main(['--help'])\n"
        "print([n for n in ('numpy', 'pydantic', 'jax') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_completion_is_written_where_it_is_asked_for(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["--install-completion", "--shell", "bash", "--output", str(tmp_path / "specht")]) == 0
    script = (tmp_path / "specht").read_text()
    assert "predict" in script
    assert "--check" in script


def test_help_does_not_load_jax():
    commands = [[name, "--help"] for name in ("predict", "forecast", "profile", "select", "spectrum", "kernel")]
    every = [["--help"], *commands, ["kernel", "--list-presets"], ["--version"]]
    code = (
        "import sys; from specht.commands.app import main\n"
        f"codes = [main(arguments) for arguments in {every}]\n"
        "print(set(codes), 'jax' in sys.modules, 'xarray' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "{0} False False"


def test_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "specht", "kernel", "--n", "x"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "specht: --n must be a valid integer, got 'x'.\n"


def test_doctor(capsys):
    assert main(["doctor", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["version"] == specht.__version__
    assert "kernels in float64" in facts["precision"]
    assert any(library.startswith("jax 0.") for library in facts["libraries"])
    assert "figures yes" in facts["extras"]
    assert f"matplotlib {importlib.metadata.version('matplotlib')}" in facts["optional"]
    assert f"marimo {importlib.metadata.version('marimo')}" in facts["optional"]
    assert facts["store"].startswith(str(Path.cwd() / "specht-results"))
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "devices" in shown
    assert f"matplotlib {importlib.metadata.version('matplotlib')}" in shown


def test_doctor_tells_what_is_missing_from_what_has_no_version(monkeypatch, tmp_path):
    (tmp_path / "folder_on_the_path.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(doctor, "EXTRAS", {"one": ("numpy", "not_installed_anywhere"), "two": ("folder_on_the_path",)})
    facts = doctor._facts()
    assert facts["extras"] == ["one no", "two yes"]
    assert facts["optional"][1:] == ["not_installed_anywhere missing", "folder_on_the_path of unknown version"]


@pytest.mark.parametrize(("name", "examples"), [("kernel", 4), ("spectrum", 4), ("profile", 4), ("select", 6), ("doctor", 0)])
def test_every_command_has_help(capsys, name, examples):
    assert name in [*app]
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"specht {name}" in shown
    assert shown.count(f"    specht {name}") >= examples
    assert main(["--help"]) == 0
    assert "Gram matrix as a file" in capsys.readouterr().out


class TestCache:
    def test_is_set_for_this_user_and_machine(self, monkeypatch, tmp_path):
        monkeypatch.setenv(CACHE_VARIABLE, "to be removed, and put back afterwards")
        monkeypatch.delenv(CACHE_VARIABLE)
        monkeypatch.setattr("specht.commands.command.user_cache", lambda: tmp_path / "specht")
        use_compilation_cache()
        folder = tmp_path / "specht" / "jax" / machine_key()
        assert os.environ[CACHE_VARIABLE] == str(folder)
        assert folder.stat().st_mode & 0o077 == 0

    def test_an_existing_choice_is_respected(self, monkeypatch):
        monkeypatch.setenv(CACHE_VARIABLE, "/somewhere/else")
        monkeypatch.setenv(THRESHOLD_VARIABLE, "7")
        use_compilation_cache()
        assert os.environ[CACHE_VARIABLE] == "/somewhere/else"
        assert os.environ[THRESHOLD_VARIABLE] == "7"

    def test_a_home_that_cannot_be_written_to_is_no_failure(self, monkeypatch, tmp_path):
        monkeypatch.setenv(CACHE_VARIABLE, "to be removed, and put back afterwards")
        monkeypatch.delenv(CACHE_VARIABLE)
        (tmp_path / "file").touch()
        monkeypatch.setattr("specht.commands.command.user_cache", lambda: tmp_path / "file" / "specht")
        use_compilation_cache()
        assert CACHE_VARIABLE not in os.environ


class TestOutput:
    def test_table_lines_up(self, capsys):
        command.print_table([["trace", "1", "22"], ["name", "a long one that spans", ""]], header=["", "a", "b"])
        assert capsys.readouterr().out.splitlines() == ["       a  b", "trace  1  22", "name   a long one that spans"]

    def test_no_progress_when_nobody_looks(self, monkeypatch):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
        with command.progress_bar("work") as progress:
            assert progress is None

    def test_short_work_shows_no_bar(self, monkeypatch, capsys):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        with command.progress_bar("work") as progress:
            assert progress is not None
            progress(1, 2)
            progress(2, 2)
        assert capsys.readouterr().err == ""
