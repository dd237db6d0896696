"""The command line: one file a command, each parses, calls and prints.

Exit codes: 0 done, 1 ran and failed, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence

import cyclopts
import pydantic

import specht
from specht.cli import (
    doctor,
    explore,
    forecast,
    kernel,
    predict,
    probe,
    profile,
    reproduce,
    runs,
    select,
    spectrum,
    symmetry,
    threshold,
)
from specht.errors import InputError, StorageError, unknown_choice

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
OWN_DATA = "predict-data"
"""What `specht predict --data FILE` becomes, since its flags are others."""

app = cyclopts.App(
    name="specht",
    version=specht.__version__,
    help="""What will this transformer learn, and from how many samples? Answers before training.

For example

    specht predict                             learning curve of the default task
    specht predict --check gp                  with exact inference beside it
    specht predict --data FILE --target LABEL  your own sequences and labels
    specht profile parity --support 3          which level a function lies at
    specht profile mine:score                  the same for a function of yours
    specht probe nope-causal-softmax           which permutations it ignores
    specht probe mine:model                    the same for a model of yours
    specht spectrum                            eigenvalues by irrep and length
    specht spectrum --source graded            with a source whose order matters
    specht kernel --preset lecun --length 32   a Gram matrix, softmax and erf
    specht kernel --arch "V=8 L=64 | relu"     a line of notation
    specht kernel --list-presets               the named architectures
    specht symmetry novel.txt                  is a corpus order-sensitive?
    specht threshold and --lengths 25 50 100   samples a sparse function needs
    specht select                              attention that selects tokens
    specht reproduce --list                    what the papers claim
    specht reproduce                           whether it holds: a scorecard
    specht explore                             all of this in a browser
    specht runs                                what has been computed
    specht doctor                              versions, devices, caches

Every command writes into `specht-results/`, or where `--out` says, and prints one JSON object with `--json`.""",
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # answered in main, with a sentence
)
# A command loads what is heavy when it runs, so that help stays quick.
app.command(predict.predict, sort_key=1)
app.command(forecast.forecast, name=OWN_DATA, show=False, usage="Usage: specht predict --data FILE --target COLUMN [OPTIONS]")
app.command(profile.profile, sort_key=2)
app.command(probe.probe, sort_key=2)
app.command(spectrum.spectrum, sort_key=3)
app.command(kernel.kernel, sort_key=4)
app.command(symmetry.symmetry, sort_key=5)
app.command(threshold.threshold, sort_key=6)
app.command(select.select, sort_key=7)
app.command(reproduce.reproduce, sort_key=8)
app.command(explore.explore, sort_key=9)
app.command(runs.app)
app.command(doctor.doctor, sort_key=10)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without the signs of mathematics gets question marks
            stream.reconfigure(errors="replace")
    if words[:1] == ["predict"] and any(word.split("=")[0] == "--data" for word in words):
        words = [OWN_DATA, *words[1:]]  # the same question, but other flags
    if words[:1] == ["symmetry"]:
        words = [symmetry.STANDARD_INPUT if word == "-" else word for word in words]  # which the parser takes for a flag
    try:
        code = app(
            words,
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
    except cyclopts.CycloptsError as error:
        return _refuse(_sentence(error))
    except InputError as error:
        return _refuse(str(error))
    except BrokenPipeError:  # whoever read the output has gone: nothing to say, and nobody to say it to
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FAILED
    except StorageError as error:
        print(f"specht: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("specht: interrupted; files that were finished are kept.", file=sys.stderr)
        return INTERRUPTED
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else FAILED if stop.code else DONE
    except Exception:
        traceback.print_exc()
        return FAILED
    return code if isinstance(code, int) else DONE


def _refuse(sentence: str) -> int:
    print(f"specht: {sentence}", file=sys.stderr)
    return BAD_INPUT


def _sentence(error: cyclopts.CycloptsError) -> str:
    """What is wrong with the command line, without the vocabulary of the parser."""
    if isinstance(error.__cause__, pydantic.ValidationError):
        return " ".join(_field_sentence(dict(detail)) for detail in error.__cause__.errors())
    if isinstance(error, cyclopts.UnusedCliTokensError):
        return f"{' '.join(error.unused_tokens or [])!r} belongs to no flag: `specht COMMAND --help` lists them."
    return " ".join(str(error).split())


def _field_sentence(detail: dict) -> str:
    if detail["type"] == "value_error":  # one of our own sentences
        return str(detail["ctx"]["error"])
    name = next(part for part in reversed(detail["loc"]) if isinstance(part, str))  # a number is a place in a list
    flag = "--" + name.replace("_", "-")
    if detail["type"] == "missing":
        return f"{flag} is missing: `specht COMMAND --help` says what it is."
    if detail["type"] == "literal_error":
        choices = [word.strip("' ") for word in detail["ctx"]["expected"].replace(" or ", ", ").split(",")]
        return str(unknown_choice(f"value of {flag}", detail["input"], choices))
    rule = detail["msg"].replace("Input should", "must").split(",")[0]
    return f"{flag} {rule}, got {detail['input']!r}."
