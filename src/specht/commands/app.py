"""The list of commands, and how errors end one: a sentence and an exit code.

Exit codes: 0 done, 1 ran and failed, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence

import cyclopts

import specht
from specht.errors import InputError, NoLimitError, StorageError, WorkError, unknown_choice

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
FORECAST = "forecast"
"""What `specht predict --data FILE`, its former name, becomes."""
STANDARD_INPUT = "auto:-"
"""What the corpus `-` of `specht symmetry` becomes, since the parser takes it for a flag."""
LIMITS, TABLES = "docs/limits.md", "docs/howto/own_data.md"
"""Pages of the documentation that errors lead to."""

app = cyclopts.App(
    name="specht",
    version=specht.__version__,
    help="""What will this transformer learn, and from how many samples? Answers before training.

For example

    specht predict                             learning curve of the default task
    specht predict --check gp                  with exact inference beside it
    specht forecast FILE --target LABEL        your own sequences and labels
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
    specht --install-completion                for your shell

Every command writes into `specht-results/`, or where `--out` says, and prints one JSON object with `--json`.""",
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # answered in main, with a sentence
)
# What stands in the list of commands, so that it shows without loading any of them. A test compares it with what they say themselves.
COMMANDS: dict[str, tuple[str, int, str]] = {
    "predict": ("specht.commands.predict:predict", 1, "The learning curve of a transformer before any training: test, train and out of distribution, and what each irrep costs."),
    "forecast": ("specht.commands.forecast:forecast", 1, "How good will predictions become with more rows like yours, is it worth it, and does the order of tokens matter?"),
    "profile": ("specht.commands.profile:profile", 2, "The symmetry profile of a function: how much of it ignores order or singles out 1, 2, ... positions, hence what it costs to learn."),
    "probe": ("specht.commands.probe:probe", 2, "Does a model see the order of its tokens? Which permutations it ignores, at every position of every layer, and from where on it sees."),
    "spectrum": ("specht.commands.spectrum:spectrum", 3, "Eigenvalues of the kernel by irrep of the symmetric group, against length: what is learnt first, and how much later the rest."),
    "kernel": ("specht.commands.kernel:kernel", 4, "The infinite-width kernel of a transformer: a summary, a report and the Gram matrix as a file."),
    "symmetry": ("specht.commands.symmetry:symmetry", 5, "How permutation-symmetric is a corpus? The share of the correlations between positions that ignores order, with an interval."),
    "threshold": ("specht.commands.threshold:threshold", 6, "The smallest number of samples that learns a sparse Boolean function, and how it grows with the number of bits."),
    "select": ("specht.commands.select:select", 7, "Does attention learn to average the tokens that a query names, and at lengths it has not seen? Training with codes of positions."),
    "explore": ("specht.commands.explore:explore", 8, "Theory that moves while you look at it: learning curves, spectra, the symmetry of text and of targets, the papers."),
    "reproduce": ("specht.commands.reproduce:reproduce", 9, "Test what the papers claim: each claim, its criterion, what was measured, and whether it holds."),
    "runs": ("specht.commands.runs:app", 10, "What has been computed, where, and how."),
    "doctor": ("specht.commands.doctor:doctor", 11, "Versions, devices, precision, caches and results: what to send along with a question."),
}  # fmt: skip
"""Commands by name: where it is, its place in the list, and a sentence."""
for _name, (_home, _place, _sentence_of) in COMMANDS.items():
    app.command(_home, name=_name, sort_key=_place, help=_sentence_of)
app.register_install_completion_command(help="Teach your shell to complete commands and flags: bash, zsh or fish.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without the signs of mathematics gets question marks
            stream.reconfigure(errors="replace")
    renamed = words[:1] == ["predict"] and any(word.split("=")[0] == "--data" for word in words)
    if renamed:
        words = [FORECAST, *words[1:]]
    if words[:1] == ["symmetry"]:
        words = [STANDARD_INPUT if word == "-" else word for word in words]
    if words and words[0] in COMMANDS:
        # Let the command say itself what it is, at length, instead of the sentence that stands for it in the list.
        home, place, _ = COMMANDS[words[0]]
        del app[words[0]]
        app.command(home, name=words[0], sort_key=place)
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
        return _refuse(f"{error}{_explained(error, words)}")
    except BrokenPipeError:  # whoever read the output has gone: nothing to say, and nobody to say it to
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FAILED
    except (StorageError, WorkError) as error:
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
    if renamed:  # where something is wrong that alone is said
        print("specht: `specht predict --data FILE` is now `specht forecast FILE`, with the same flags and numbers.", file=sys.stderr)
    return code if isinstance(code, int) else DONE


def _explained(error: InputError, words: Sequence[str]) -> str:
    """Where to read more, where there is more to say than the sentence does."""
    if isinstance(error, NoLimitError):
        return f" ({LIMITS} says which architectures have a limit.)"
    return f" ({TABLES} shows what a table looks like.)" if words[:1] == [FORECAST] else ""


def _refuse(sentence: str) -> int:
    print(f"specht: {sentence}", file=sys.stderr)
    return BAD_INPUT


def _sentence(error: cyclopts.CycloptsError) -> str:
    """What is wrong with the command line, without the vocabulary of the parser."""
    import pydantic  # slow to load, and there already if it matters

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
    if detail["type"] == "too_short":
        return f"{flag} is empty: give at least one value, or leave it out."
    if detail["type"] == "literal_error":
        choices = [word.strip("' ") for word in detail["ctx"]["expected"].replace(" or ", ", ").split(",")]
        return str(unknown_choice(f"value of {flag}", detail["input"], choices))
    rule = detail["msg"].replace("Input should", "must").split(",")[0]
    return f"{flag} {rule}, got {detail['input']!r}."
