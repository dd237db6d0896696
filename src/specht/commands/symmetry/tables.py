"""The tables of `specht symmetry`: scores, null models, lags, lengths, irreps, third cumulants, blocks C(k), influence; and how its numbers
and the names of corpora are written.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace

from specht.corpus import EXTRAS
from specht.report import UNDEFINED, Column, Table, percent

Corpora = Sequence[SimpleNamespace]


def detail_tables(corpora: Corpora) -> list[Table]:
    """All tables beside that of the scores, those that have rows."""
    names = ["all lags" if score.from_lag == 1 else f"≥ {score.from_lag}" for score in corpora[0].cuts]
    note = "At lags from so many tokens on; other lags are left out of all sums."
    cuts = _series_table(corpora, "cuts", names, "Scores without short lags", note)
    lengths = _series_table(corpora, "lengths", [f"L = {score.length}" for score in corpora[0].lengths], "Scores by window length")
    tables = [null_table(corpora), cuts, lengths, irrep_table(corpora), third_table(corpora)]
    tables += [harmonics_table(corpora), influence_table(corpora), coverage_table(corpora)]
    return [table for table in tables if table.rows]


def extent(corpora: Corpora, extra: str) -> str:
    """What was counted for a small vocabulary and short windows."""
    limits = EXTRAS[extra]
    length = max(limits.shortest, min(limits.longest, corpora[0].length))
    return f"windows of {length} tokens, the {limits.types} most frequent types or fewer and the rest as one"


def score_table(corpora: Corpora, note: str) -> Table:
    """The scores, the only table that a terminal shows."""
    header = (
        "corpus",
        "tokens",
        "number",
        "V",
        "score",
        "95 % interval",
        "distance",
        "direction",
        "rms correlation",
        "shuffled in windows",
    )

    def row(corpus: SimpleNamespace) -> list[str]:
        cells = [UNDEFINED, MISSING, MISSING, MISSING]
        if corpus.defined:
            cells = [number(corpus.score), between(corpus), number(corpus.distance), number(corpus.direction)]
        null = null_score(corpus, "window")
        about = [corpus.label, corpus.tokens, f"{corpus.n_tokens:,}", str(corpus.vocab)]
        return [*about, *cells, rms(corpus.rms), MISSING if null is None else scored(null)]

    return Table(header, [row(corpus) for corpus in corpora], note=note, title="Scores")


def null_table(corpora: Corpora) -> Table:
    """Scores beside those of the same tokens in random order."""
    models = null_models(corpora)
    header = ("corpus", "score", "rms", *(cell for null in models for cell in (f"shuffled {NULL_NAMES[null]}", "rms")))

    def cells(corpus: SimpleNamespace) -> Iterator[str]:
        for score in (corpus, *(null_score(corpus, null) for null in models)):
            yield from (MISSING, MISSING) if score is None else (scored(score), rms(score.rms))

    note = (
        "Shuffling inside windows keeps what windows are about and must give 1; inside articles it keeps what articles are about, and must "
        "give 1 where they are long; shuffling the whole corpus leaves no correlations, and no score."
    )
    rows = [[corpus.label, *cells(corpus)] for corpus in corpora] if models else []
    return Table(header, rows, note, "Null models", brief=False)


def _series_table(corpora: Corpora, series: str, names: Sequence[str], title: str, note: str = "") -> Table:
    rows = [[corpus.label, *map(scored, getattr(corpus, series))] for corpus in corpora]
    return Table(("corpus", *names), rows if len(names) > 1 and defined(corpora) else [], note, title, brief=False)


def irrep_table(corpora: Corpora) -> Table:
    """Shares of the four irreps, and how far the laws of single positions differ."""

    def row(corpus: SimpleNamespace) -> list[str]:
        shares = corpus.isotypic
        estimates = [*vars(shares.shares).values(), shares.diagonal]
        return [corpus.label, *(f"{number(cell.value)} {between(cell)}" if shares.defined else UNDEFINED for cell in estimates)]

    note = (
        f"In {extent(corpora, 'isotypic')}, disjoint from the start of each record on. The last column says how much the laws of single "
        "positions differ, in units of all correlations between positions: it is large where windows start at something, such as the start "
        "of a protein."
    )
    header = ("corpus", "[L]", "[L−1,1]", "[L−2,2]", "[L−2,1,1]", "single positions")
    return Table(header, [row(corpus) for corpus in corpora if corpus.isotypic], note, "Shares by irrep", brief=False)


def third_table(corpora: Corpora) -> Table:
    """The share of third cumulants that ignores order."""
    thirds = [(corpus.label, corpus.third) for corpus in corpora if corpus.third]
    rows = [
        [label, *([number(third.value), between(third)] if third.defined else [UNDEFINED, MISSING]), f"{third.z:z.1f}"]
        for label, third in thirds
    ]
    note = (
        f"The share of third cumulants of three different positions that ignores order, in {extent(corpora, 'third')}, each weighed by one "
        "over the root of its frequency. The last column is their size over its standard error; below about two there is nothing to score."
    )
    return Table(("corpus", "score of three", "95 % interval", "signal / noise"), rows, note, "Three positions at once", brief=False)


def harmonics_table(corpora: Corpora) -> Table:
    """Three rows a corpus: how alike the blocks C(k) are as they come, centred, and without the term of single positions."""

    def row(label: str, kind: str, blocks: SimpleNamespace) -> list[str]:
        cells = [number(blocks.within.mean), number(blocks.within.least), number(blocks.across.mean), *[MISSING] * 5]
        if distances := getattr(blocks, "kolmogorov", None):
            cells[3:6] = map(number, (distances.within.median, distances.within.most, distances.across.mean))
        if overlaps := getattr(blocks, "overlaps", None):
            cells[6:] = map(number, (overlaps.within.mean, overlaps.across.mean))
        return [label, kind, *cells]

    note = (
        f"In {extent(corpora, 'harmonics')}, all weighed alike. Cosines: mean and least among k ≠ 0, mean between 0 and the others. CDFs: "
        "Kolmogorov distances of the distributions of eigenvalues of D^{−1/2} C(k) D^{−1/2}, D = diag p, over their sum, median and "
        "largest among k ≠ 0, mean between 0 and the others. Subspaces: overlap of the ten largest principal components. Sampling noise is "
        "not taken off here: it makes blocks of small corpora less alike, most of all off-site."
    )
    cosines, others = ("cos, k ≠ 0", "least", "cos(0, k)"), ("CDFs, k ≠ 0", "most", "CDFs, 0 and k", "subspaces, k ≠ 0", "0 and k")
    rows = [row(corpus.label, kind, blocks) for corpus in corpora for kind, blocks in vars(corpus.harmonics).items()]
    return Table(("corpus", "C(k)", *cosines, *others), rows, note, "Likeness of the blocks C(k)", brief=False)


def influence_table(corpora: Corpora) -> Table:
    """Which windows carry the score of each corpus that has one."""
    columns: dict[str, Column] = {
        "corpus": "label",
        "windows": lambda corpus: f"{corpus.influence.windows:,}",
        "carry half": lambda corpus: f"{corpus.influence.carrying_half:,}",
        "share of the top 1 %": lambda corpus: percent(corpus.influence.top_share),
        "their tokens": lambda corpus: " ".join(map(quoted, corpus.influence.tokens)) or MISSING,
        "one block moves the score by": lambda corpus: f"{max(corpus.influence.blocks, key=abs, default=0.0):+z.3f}".replace("-", "−"),
    }
    note = (
        "The fewest windows, of those looked at, that carry half of what ignores order, and the types that stand out in the top hundredth. "
        "There is a warning where a hundredth of the windows or fewer carry half. Last: how much the score falls if the weightiest block "
        "is left out."
    )
    return Table.of(defined(corpora), columns, note=note, title="Who carries the score", brief=False)


def coverage_table(corpora: Corpora) -> Table:
    """How much of each corpus the vocabulary covers."""
    columns = {"corpus": "label", "counted by": "method", "tokens of the V types": lambda corpus: percent(corpus.coverage)}
    return Table.of(corpora, columns, title="How it was counted", brief=False)


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


WIDEST = 24
"""Characters of the name of a corpus in tables and figures."""


def labels(corpora: Sequence[SimpleNamespace]) -> list[str]:
    """What corpora are called: the last part of a path, or as much of it as no other one has.

    >>> labels([SimpleNamespace(name="char:/a/x.txt", tokens="char"), SimpleNamespace(name="/a/x.txt", tokens="word")])
    ['char:x.txt', 'x.txt']
    >>> labels([SimpleNamespace(name=f"/{folder}/x.txt", tokens="word") for folder in "ab"])
    ['a/x.txt', 'b/x.txt']
    """
    names = [_parts(corpus) for corpus in corpora]
    depths = [2 if re.search(r"[*?\[]", steps[-1]) else 1 for _, steps in names]

    def short() -> list[str]:
        return [before + "/".join(steps[-depth:]) for (before, steps), depth in zip(names, depths, strict=True)]

    for _ in range(max(len(steps) for _, steps in names)):
        short_names = short()
        depths = [depth + (short_names.count(name) > 1) for name, depth in zip(short_names, depths, strict=True)]
    short_names = _clipped(short())
    return [
        name if short_names.count(name) == 1 else f"{name} {short_names[: place + 1].count(name)}" for place, name in enumerate(short_names)
    ]


def _parts(corpus: SimpleNamespace) -> tuple[str, list[str]]:
    """The tokenisation that stands before a name, and the steps of its path."""
    before = f"{corpus.tokens}:"
    path = corpus.name.removeprefix(before)
    steps = [step for step in re.split(r"[/\\]", path) if step] or [path]
    return before if path != corpus.name else "", ["standard input"] if path == "-" else steps


def _clipped(names: Sequence[str]) -> list[str]:
    """Long names without their middle, or, if that is where they differ, without their beginning.

    >>> _clipped(["x", *(f"a_very_long_beginning_{number}_of_a_name.txt" for number in (1, 2))])
    ['x', '…inning_1_of_a_name.txt', '…inning_2_of_a_name.txt']
    """
    half = WIDEST // 2
    short_names = [name if len(name) <= WIDEST else f"{name[: half - 1]}…{name[-half:]}" for name in names]
    for clash in {name for name in short_names if short_names.count(name) > 1}:
        places = [place for place, name in enumerate(short_names) if name == clash]
        letters = zip(*(names[place] for place in places), strict=False)
        common = sum(1 for _ in itertools.takewhile(lambda column: len(set(column)) == 1, letters))
        begin = max(common - 7, 0)
        for place in places:
            rest = names[place][begin:]
            short_names[place] = f"…{rest}" if len(rest) < WIDEST else f"…{rest[: WIDEST - 2]}…"
    return short_names
