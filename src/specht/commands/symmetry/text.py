"""Numbers of `specht symmetry` as text, and which corpora there is something to say of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace

from specht.report.symmetry_figures import UNDEFINED

MISSING = "–"
NULL_NAMES = {"window": "in windows", "article": "in articles", "global": "as a whole"}


def defined(corpora: Sequence[SimpleNamespace]) -> list[SimpleNamespace]:
    """The corpora that have a score."""
    return [corpus for corpus in corpora if corpus.defined]


def null_score(corpus: SimpleNamespace, null: str) -> SimpleNamespace | None:
    """The score under a null model, if it was measured."""
    return getattr(corpus.nulls, null, None)


def null_models(corpora: Sequence[SimpleNamespace]) -> list[str]:
    """The null models that some corpus was measured under."""
    return [null for null in NULL_NAMES if any(null_score(corpus, null) for corpus in corpora)]


def number(value: float) -> str:
    """Three decimals, without a sign for what rounds to zero.

    >>> number(0.13684), number(-0.0001), number(-0.719)
    ('0.137', '0.000', '−0.719')
    """
    return f"{value:z.3f}".replace("-", "−")


def percent(value: float) -> str:
    """A share to a tenth of a per cent.

    >>> percent(0.1368), percent(1.008)
    ('13.7 %', '100.8 %')
    """
    return f"{100 * value:z.1f} %".replace("-", "−")


def rms(value: float) -> str:
    """A correlation, in units of that of a token with itself."""
    return f"{value:.4f}"


def between(estimate: SimpleNamespace) -> str:
    """The interval of an estimate.

    >>> between(SimpleNamespace(low=0.126, high=0.149))
    '[0.126, 0.149]'
    """
    return f"[{number(estimate.low)}, {number(estimate.high)}]"


def span(low: float, high: float, write: Callable[[float], str]) -> str:
    """From the least to the largest of some numbers, or the one that they all are.

    >>> span(0.126, 0.149, percent), span(0.0301, 0.03011, rms)
    ('12.6 to 14.9 %', '0.0301')
    """
    first, last = write(low), write(high)
    return first if first == last else f"{first.removesuffix(' %')} to {last}"


def scored(score: SimpleNamespace) -> str:
    """A score with its interval, or that it has none."""
    return f"{number(score.score)} {between(score)}" if score.defined else UNDEFINED


def quoted(token: str) -> str:
    """A token between quotation marks; those that nobody sees are spelt out.

    >>> quoted("*"), quoted(" "), quoted(chr(10))
    ("'*'", "' '", "'\\\\n'")
    """
    return f"'{token if token.isprintable() else token.encode('unicode_escape').decode()}'"
