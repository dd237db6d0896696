"""The numbers of `specht symmetry` as text, for the terminal and for the report."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from specht.report.page import listed

Corpus = Mapping[str, Any]
SCORE_HEADER = (
    *("corpus", "tokens", "number", "V", "score", "95 % interval", "distance", "direction", "rms correlation", "shuffled in windows"),
)
WIDEST = 24
"""Characters of a corpus' name in tables and figures."""
WEAK = 0.1
"""Rms correlation below which single tokens rule the second moment."""
FAR = 10
"""Smallest lag of what is far apart."""
HEAVY = 0.15
"""Share of the score that one block may move without a warning."""
UNDEFINED = "undefined"
MISSING = "–"


def labels(result: Mapping[str, Any]) -> list[str]:
    """What the corpora are called, each by another name: the last part of a path, or as much of it as tells it apart.

    >>> labels({"corpora": [{"name": "char:/a/x.txt", "tokens": "char"}, {"name": "/a/x.txt", "tokens": "word"}]})
    ['char:x.txt', 'x.txt']
    >>> labels({"corpora": [{"name": f"/{folder}/x.txt", "tokens": "word"} for folder in "ab"]})
    ['a/x.txt', 'b/x.txt']
    """
    names = [_parts(corpus) for corpus in result["corpora"]]
    depths = [2 if re.search(r"[*?\[]", steps[-1]) else 1 for _, steps in names]

    def short() -> list[str]:
        return [before + "/".join(steps[-depth:]) for (before, steps), depth in zip(names, depths, strict=True)]

    for _ in range(max(len(steps) for _, steps in names)):
        found = short()
        depths = [depth + (found.count(name) > 1) for name, depth in zip(found, depths, strict=True)]
    found = _clipped(short())
    return [name if found.count(name) == 1 else f"{name} {found[: place + 1].count(name)}" for place, name in enumerate(found)]


def _parts(corpus: Corpus) -> tuple[str, list[str]]:
    """The tokenisation that stands before a name, and the steps of its path."""
    before = f"{corpus['tokens']}:"
    path = corpus["name"].removeprefix(before)
    steps = [step for step in re.split(r"[/\\]", path) if step] or [path]
    return before if path != corpus["name"] else "", ["standard input"] if path == "-" else steps


def _clipped(names: Sequence[str]) -> list[str]:
    """Long names without their middle, or, if that is where they differ, without their beginning.

    >>> _clipped(["x", *(f"a_very_long_beginning_{number}_of_a_name.txt" for number in (1, 2))])
    ['x', '…inning_1_of_a_name.txt', '…inning_2_of_a_name.txt']
    """
    half = WIDEST // 2
    found = [name if len(name) <= WIDEST else f"{name[: half - 1]}…{name[-half:]}" for name in names]
    for clash in {name for name in found if found.count(name) > 1}:
        places = [place for place, name in enumerate(found) if name == clash]
        letters = zip(*(names[place] for place in places), strict=False)
        common = sum(1 for _ in itertools.takewhile(lambda column: len(set(column)) == 1, letters))
        begin = max(common - 7, 0)
        for place in places:
            rest = names[place][begin:]
            found[place] = f"…{rest}" if len(rest) < WIDEST else f"…{rest[: WIDEST - 2]}…"
    return found


def defined(result: Mapping[str, Any]) -> list[tuple[str, Corpus]]:
    """The corpora that have a score, with their names, the most symmetric first."""
    return [(label, corpus) for label, corpus in zip(labels(result), result["corpora"], strict=True) if corpus["defined"]]


def score_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """One row a corpus."""
    return [_score_row(label, corpus) for label, corpus in zip(labels(result), result["corpora"], strict=True)]


def _score_row(label: str, corpus: Corpus) -> list[str]:
    facts = [label, corpus["tokens"], f"{corpus['n_tokens']:,}", str(corpus["vocab"])]
    found = [UNDEFINED, MISSING, MISSING, MISSING]
    if corpus["defined"]:
        found = [number(corpus["score"]), between(corpus), number(corpus["distance"]), number(corpus["direction"])]
    null = corpus["nulls"].get("window")
    return [*facts, *found, rms(corpus["rms"]), MISSING if null is None else scored(null)]


def answer(result: Mapping[str, Any]) -> str:
    """What share of the correlations ignores order: of the one corpus, or of the most and the least symmetric one."""
    found, total = defined(result), len(result["corpora"])
    windows = f"in windows of {result['corpora'][0]['length']} tokens"
    if not found:
        whose, score = (labels(result)[0], "score is") if total == 1 else (f"all {total} corpora", "scores are")
        return (
            f"Correlations between positions {windows} of {whose} cannot be told from noise, so there is nothing to share out: the "
            f"{score} undefined."
        )
    if total == 1:
        label, corpus = found[0]
        whose = f"Of the correlations between positions {windows} of {label}"
        return (
            f"{whose}, {_share(corpus)} ignore order; {percent(corpus['distance'])} depend on how far apart two tokens are, and "
            f"{percent(corpus['direction'])} on which comes first."
        )
    left = total - len(found)
    rest = f" {left} of {total} corpora {'has' if left == 1 else 'have'} no correlations beyond noise, hence no score." if left else ""
    if len(found) == 1:
        return f"Of the correlations between positions {windows} of {found[0][0]}, {_share(found[0][1])} ignore order.{rest}"
    (most, first), (least, last) = found[0], found[-1]
    return (
        f"Of the correlations between positions {windows}, those that ignore order make up {_share(first)} in {most}, the most symmetric "
        f"of these corpora, and {_share(last)} in {least}, the least.{rest}"
    )


def _share(corpus: Corpus) -> str:
    """The score in a sentence, with its interval, and a warning if a few windows make it."""
    inside = between(corpus, percent, brackets=False)
    asides = ["all of them within the error"] if corpus["low"] <= 1.0 <= corpus["high"] else []
    asides += ["most of it from a few windows"] if corpus["influence"]["uneven"] else []
    return f"{percent(corpus['score'])} ({inside})" + "".join(f", {aside}" for aside in asides) + "," * bool(asides)


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


def between(estimate: Mapping[str, Any], write=number, brackets: bool = True) -> str:
    """The interval of an estimate.

    >>> between({"low": 0.126, "high": 0.149}), between({"low": 0.126, "high": 0.149}, percent, brackets=False)
    ('[0.126, 0.149]', '12.6 to 14.9 %')
    """
    low, high = write(estimate["low"]), write(estimate["high"])
    return f"[{low}, {high}]" if brackets else f"{low.removesuffix(' %')} to {high}"


def scored(score: Mapping[str, Any]) -> str:
    """A score with its interval, or that it has none."""
    return f"{number(score['score'])} {between(score)}" if score["defined"] else UNDEFINED


def quoted(token: str) -> str:
    """A token between quotation marks; those that nobody sees are spelt out.

    >>> quoted("*"), quoted(" "), quoted(chr(10))
    ("'*'", "' '", "'\\\\n'")
    """
    return f"'{token if token.isprintable() else token.encode('unicode_escape').decode()}'"


def rms(value: float) -> str:
    """A correlation, in units of that of a token with itself."""
    return f"{value:.4f}"


def far_cut(corpora: Sequence[Corpus]) -> int | None:
    """The place of the score for lags from 10 on, or from as far on as windows reach; None in windows of two or three tokens."""
    lags = [score["from_lag"] for score in corpora[0]["cuts"]]
    places = [place for place, lag in enumerate(lags) if 1 < lag <= FAR]
    return places[-1] if places else None


def second_moment_share(corpus: Corpus) -> float:
    """What the share would be with single positions counted among the correlations, (1 + (L-1) r² S) / (1 + (L-1) r²) at rms r.

    >>> round(second_moment_share({"length": 64, "rms": 0.0326, "score": 0.137}), 3)
    0.946
    """
    weight = (corpus["length"] - 1) * corpus["rms"] ** 2
    return (1.0 + weight * corpus["score"]) / (1.0 + weight)


def remarks(result: Mapping[str, Any]) -> list[str]:
    """What has to be known to read the numbers, one sentence or two each; only what applies."""
    found = defined(result)
    said = [_warning(label, corpus) for label, corpus in found if corpus["influence"]["uneven"]]
    said += [_block_warning(label, corpus) for label, corpus in found if not corpus["influence"]["uneven"]]
    said += [_null_remark(result), _global_remark(result), _interval_remark(result, found), _far_remark(found), _weak_remark(found)]
    said += [_noise_remark(found), _range_remark(found), _undefined_remark(result)]
    return [sentence for sentence in said if sentence]


def _warning(label: str, corpus: Corpus) -> str:
    found = corpus["influence"]
    full = f"; they are full of {listed(map(quoted, found['tokens'][:3]))}" if found["tokens"] else ""
    return (
        f"Warning: {found['carrying_half']:,} of {found['windows']:,} windows of {label} carry half of what ignores order{full}. "
        "Look at them: ornamental lines, tables and boilerplate do this."
    )


def _block_warning(label: str, corpus: Corpus) -> str:
    blocks = corpus["influence"]["blocks"]
    heaviest = max(range(len(blocks)), key=lambda block: abs(blocks[block]), default=None)
    if heaviest is None or abs(blocks[heaviest]) <= HEAVY * abs(corpus["score"]):
        return ""
    scores = f"{number(corpus['score'] - blocks[heaviest])} instead of {number(corpus['score'])}"
    return f"Warning: without block {heaviest + 1} of {len(blocks)} the score of {label} would be {scores}."


def _null_remark(result: Mapping[str, Any]) -> str:
    """Shuffled inside windows, every corpus that has correlations must score one."""
    entries = [(label, corpus, corpus["nulls"]["window"]) for label, corpus in defined(result) if "window" in corpus["nulls"]]
    entries = [entry for entry in entries if entry[2]["defined"]]
    wrong = [entry for entry in entries if not entry[2]["low"] <= 1.0 <= entry[2]["high"]]
    if wrong:
        scores = listed(f"{label} scores {scored(null)}" for label, _, null in wrong)
        sketched = any(corpus["method"] == "sketch" for _, corpus, _ in wrong)
        cure = "the noise of sketches is gone with --method exact" if sketched else "small corpora miss it more often"
        return f"Shuffled inside windows a corpus must score 1, but {scores}: one interval in twenty misses by chance, and {cure}."
    if not entries:
        return ""
    return f"Shuffled inside windows {'the corpus scores' if len(entries) == 1 else 'all corpora score'} 1 within the interval, as must be."


def _global_remark(result: Mapping[str, Any]) -> str:
    pairs = zip(labels(result), result["corpora"], strict=True)
    wrong = [label for label, corpus in pairs if corpus["nulls"].get("global", {}).get("defined")]
    left = f"in {listed(wrong)} some seem left: it happens by chance to one corpus in forty"
    return f"Shuffled as a whole a corpus has no correlations, but {left}." if wrong else ""


def _interval_remark(result: Mapping[str, Any], found: Sequence[tuple[str, Corpus]]) -> str:
    if not found:
        return ""
    blocks = f"drawing the {result['config']['blocks']} blocks of a text again"
    said = f"Intervals of 95 % come from {blocks}: they cover sampling within a text, not the choice of texts"
    for (one, first), (other, second) in itertools.pairwise(found):
        if second["high"] >= first["low"]:
            return f"{said}, and where they overlap, as for {one} and {other}, the order is open."
    return f"{said}."


def _far_remark(found: Sequence[tuple[str, Corpus]]) -> str:
    place = far_cut([corpus for _, corpus in found]) if found else None
    if place is None:
        return ""
    cuts = [(label, corpus["cuts"][place]) for label, corpus in found if corpus["cuts"][place]["defined"]]
    if not cuts:
        return ""
    lags = f"Between tokens {cuts[0][1]['from_lag']} or more apart"
    if len(cuts) == 1:
        whose = f" in {cuts[0][0]}" if len(found) > 1 else ""
        return f"{lags} the share is {percent(cuts[0][1]['score'])}{whose}."
    least, most = (pick(cuts, key=lambda entry: entry[1]["score"]) for pick in (min, max))
    return f"{lags} the share is {percent(least[1]['score'])} in {least[0]} and up to {percent(most[1]['score'])} in {most[0]}."


def _weak_remark(found: Sequence[tuple[str, Corpus]]) -> str:
    weak = [corpus for _, corpus in found if corpus["rms"] < WEAK]
    if not weak:
        return ""
    sizes, shares = [corpus["rms"] for corpus in weak], [second_moment_share(corpus) for corpus in weak]
    of_them = "" if len(weak) == len(found) else f" in {len(weak)} of {len(found)} corpora"
    return (
        f"Correlations are weak{of_them}, {_span(sizes, rms)} times the covariance of a token with itself: with that counted in, as in the "
        f"whole second moment, {_span(shares, percent)} would ignore order, which says little about the correlations."
    )


def _span(values: Sequence[float], write) -> str:
    low, high = write(min(values)), write(max(values))
    return low if low == high else f"{low.removesuffix(' %')} to {high}"


def _noise_remark(found: Sequence[tuple[str, Corpus]]) -> str:
    label, corpus = max(found, key=lambda entry: abs(entry[1]["plug_in"] - entry[1]["score"]), default=("", None))
    if corpus is None or number(corpus["plug_in"]) == number(corpus["score"]):
        return ""
    whose = f" of {label}" if len(found) > 1 else ""
    would = f"the score{whose} would come out as {number(corpus['plug_in'])} instead of {number(corpus['score'])}"
    return f"Squares are free of the bias of sampling noise: with it {would}."


def _range_remark(found: Sequence[tuple[str, Corpus]]) -> str:
    outside = any(not 0.0 <= corpus[part] <= 1.0 for _, corpus in found for part in ("score", "distance", "direction"))
    return "Estimates without bias may lie a little below 0 or above 1." if outside else ""


def _undefined_remark(result: Mapping[str, Any]) -> str:
    pairs = zip(labels(result), result["corpora"], strict=True)
    none = [(label, corpus["rms"]) for label, corpus in pairs if not corpus["defined"]]
    if not none:
        return ""
    names = listed(label for label, _ in none) if len(none) < 5 else f"{len(none)} corpora"
    size = _span([size for _, size in none], rms)
    return f"Undefined: the correlations of {names} (rms {size}) cannot be told from none, and a share of them would be noise over noise."
