"""The page *Symmetry of text*: paste something, or choose a corpus of this machine, and see how much of it ignores order."""

from __future__ import annotations

import tempfile
from pathlib import Path

from specht.errors import InputError
from specht.explorer.state import TextPage
from specht.progress import Progress
from specht.report import Report

PASTED = "pasted text"
LONGEST = 5_000_000
"""Characters that can be pasted."""
EMPTY = "Paste a text of some thousand words and press the button, or choose a corpus. Nothing leaves this machine."


class TextWanted:
    """What the button asked for last."""

    question: tuple[TextPage, str] | None = None
    """Parameters and text."""


def corpora() -> list[str]:
    """What can be chosen: pasted text, and the corpora with names that lie on this machine."""
    from specht.corpus.read import NAMED, whereabouts

    return [PASTED, *(name for name in NAMED if whereabouts(name) == "here")]


def text_report(page: TextPage, text: str, progress: Progress | None = None) -> Report:
    """What `specht symmetry` reports of a text or of a corpus, without shuffled copies of it."""
    if page.corpus != PASTED:
        if page.corpus not in corpora():
            raise InputError(f"The corpus {page.corpus[:60]!r} is not on this machine: choose one of the list.")
        return _report(page, page.corpus, page.corpus, progress)
    if not text.strip():
        raise InputError("There is no text yet: paste one of some thousand words, or choose a corpus.")
    if len(text) > LONGEST:
        raise InputError(f"The text has {len(text)} characters, more than {LONGEST}: score the file with `specht symmetry FILE`.")
    with tempfile.TemporaryDirectory(prefix="specht-") as folder:
        file = Path(folder) / "pasted.txt"
        file.write_text(text, encoding="utf-8", errors="replace")  # half of a pair of surrogates is no character
        return _report(page, str(file), "FILE", progress)


def _report(page: TextPage, source: str, shown: str, progress: Progress | None) -> Report:
    from specht.commands import SymmetryCommand, SymmetryConfig, symmetry_tree
    from specht.corpus import Meter, count_all, describe, findings, plan_survey, take_census

    tokens = page.tokens if page.corpus == PASTED else "auto"  # a corpus with a name knows how it is read
    config = SymmetryConfig(corpora=(source,), tokens=tokens, length=page.length, lengths=(), vocab=page.vocab, nulls=False)
    [(corpus, _)] = config.open()
    census = take_census(corpus, range(len(corpus.parts)))
    if len(census.counts) <= page.vocab:  # a slider says how many at most: then all of them
        config = config.model_copy(update={"vocab": None})
    survey = plan_survey(corpus, config.settings(), census)
    measured = findings(count_all(survey, progress=Meter(progress, survey.total).count))
    entry = describe(survey, measured) | {"name": page.corpus, "nulls": {}}
    told = config.model_copy(update={"corpora": (shown,), "lengths": None})
    return SymmetryCommand().report(told, symmetry_tree(config, [entry]))
