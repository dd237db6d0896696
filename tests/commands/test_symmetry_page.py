"""The report of `specht symmetry` from results as they come: one corpus and many, defined or not, short windows, missing parts."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import plotly.graph_objects as go
import pytest
import xarray
from matplotlib.axes import Axes

from specht.commands.symmetry import SymmetryCommand, SymmetryConfig
from specht.commands.symmetry.compute import symmetry_tree
from specht.commands.symmetry.figures import score_plot
from specht.commands.symmetry.page import answer, remarks
from specht.commands.symmetry.tables import harmonics_table, influence_table, irrep_table, labels, null_table, score_table, third_table
from specht.report import Report, formula, literal, render
from specht.report.figures import Plot
from specht.report.static import draw
from specht.report.symmetry_figures import lag_plot, split_plot
from specht.trees import facts, plain

BLOCKS = 16


def score_of(score: float | None, length: int = 64, from_lag: int = 1, rms: float = 0.03) -> dict[str, Any]:
    numbers = {"score": score, "low": None, "high": None, "distance": None, "direction": None, "plug_in": None}
    if score is not None:
        numbers |= {"low": score - 0.02, "high": score + 0.02, "distance": 0.6 * (1 - score), "direction": 0.4 * (1 - score)}
        numbers |= {"plug_in": 0.8 * score}
    return numbers | {"rms": rms, "defined": score is not None, "length": length, "from_lag": from_lag}


def spread(value: float) -> dict[str, float]:
    return {"mean": value, "median": value, "least": value - 0.2, "most": value + 0.1}


def blocks_of(k: int, likeness: float, spectra: bool) -> dict[str, Any]:
    cosines = [[1.0 if a == b else likeness for a in range(k)] for b in range(k)]
    found: dict[str, Any] = {"cosines": cosines, "within": spread(likeness), "across": spread(0.5), "imaginary": 0.1}
    if spectra:
        found["spectra"] = {str(wave): [0.6, 0.4, 1e-17] for wave in range(k)}
        found["kolmogorov"] = found["overlaps"] = {"within": spread(0.2), "across": spread(0.4)}
    return found


def corpus_of(name: str = "novel.txt", score: float | None = 0.14, length: int = 64, **changes: Any) -> dict[str, Any]:
    lengths = [each for each in (16, 32, length) if each <= length]
    estimate = {"value": 0.25, "low": 0.2, "high": 0.3}
    tokens = changes.get("tokens", "word")
    rms = changes.get("rms", 0.03)
    fields: dict[str, Any] = {
        "name": name,
        "tokens": tokens,
        "n_tokens": 34154,
        "vocab": 500,
        "coverage": 0.8,
        "method": "tables",
        **score_of(score, length, rms=rms),
        "lengths": [score_of(score, each) for each in lengths],
        "cuts": [score_of(score and score + 0.01 * lag, length, lag) for lag in (1, 2, 3, 5, 10, 20, 40) if lag == 1 or lag < length - 1],
        "lags": [{"lag": lag, "rms": 0.1 / lag, "low": 0.0, "high": 0.2 / lag, "direction": 0.4} for lag in range(1, length)],
        "isotypic": {"shares": dict.fromkeys(("(L)", "(L-1,1)", "(L-2,2)", "(L-2,1,1)"), estimate), "diagonal": estimate, "defined": True},
        "third": estimate | {"z": 5.0, "defined": True},
        "harmonics": {
            kind: blocks_of(max(length, 4) // 2 + 1, likeness, kind != "off-site")
            for kind, likeness in (("raw", 0.91), ("centred", 0.93), ("off-site", 0.17))
        },
        "influence": {
            "windows": 500,
            "carrying_half": 90,
            "top_share": 0.1,
            "tokens": ["the", "of"],
            "uneven": False,
            "blocks": [0.001] * BLOCKS,
        },
        "nulls": {"window": score_of(1.0 if score else None, length), "global": score_of(None, length, rms=0.0)},
    }
    return fields | changes


def result_of(*corpora: dict[str, Any], metric: str = "chi2-floor") -> dict[str, Any]:
    return {"metric": metric, "corpora": list(corpora)}


def tree_of(result: dict[str, Any]):
    return symmetry_tree(SymmetryConfig(metric=result["metric"], blocks=BLOCKS), result["corpora"])


def corpora_of(result: dict[str, Any]) -> list[SimpleNamespace]:
    """The corpora as the page has them."""
    found = facts(tree_of(result)).corpora
    return [SimpleNamespace(label=label, **vars(corpus)) for corpus, label in zip(found, labels(found), strict=True)]


def report_of(result: dict[str, Any]) -> Report:
    page = SymmetryCommand().page(tree_of(result))
    return Report(**vars(page), reproduce="specht symmetry novel.txt", made_with={"seed": "0"})


UNEVEN = {"windows": 2234, "carrying_half": 4, "top_share": 0.95, "tokens": ["*", "_"], "uneven": True, "blocks": [0.0] * BLOCKS}
BARE = {"nulls": {}, "isotypic": None, "third": None, "harmonics": {}}
NOISE = {"value": 0.1, "low": -1.0, "high": 1.0, "z": 0.3, "defined": False}
CASES = {
    "one": result_of(corpus_of()),
    "two": result_of(corpus_of("a.txt", 0.5), corpus_of("char:b_c.txt", 0.1, tokens="char")),
    "undefined": result_of(corpus_of(score=None, rms=0.0004)),
    "some undefined": result_of(corpus_of("a.txt", 0.5), corpus_of("b.txt", None)),
    "bare": result_of(corpus_of(**BARE)),
    "bare and undefined": result_of(corpus_of(score=None, **BARE)),
    "length 2": result_of(corpus_of(length=2, vocab=2)),
    "length 4": result_of(corpus_of(length=4, vocab=2)),
    "beyond one": result_of(corpus_of(score=1.008)),
    "below zero": result_of(corpus_of(score=-0.003), metric="plain"),
    "uneven": result_of(corpus_of(influence=UNEVEN), metric="chi2"),
    "many": result_of(*(corpus_of(f"/data/{n}/a_very_long_name_of_a_corpus_{n}.txt", 0.9 - 0.03 * n) for n in range(25))),
    "some bare": result_of(corpus_of("a.txt", 0.5, **BARE), corpus_of("b.txt"), corpus_of("c.txt", None, influence=UNEVEN)),
    "irreps of noise": result_of(corpus_of(isotypic=corpus_of()["isotypic"] | {"defined": False}, third=NOISE)),
}


@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_result_goes_through_its_tree(case, tmp_path):
    """Corpora differ in what is known of them, and each comes back from a file with what it had."""
    tree_of(CASES[case]).to_netcdf(tmp_path / "symmetry.nc", engine="h5netcdf")
    with xarray.open_datatree(tmp_path / "symmetry.nc", engine="h5netcdf") as kept:
        assert plain(kept.load())["corpora"] == CASES[case]["corpora"]


@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_result_makes_a_page(case):
    report = report_of(CASES[case])
    text = re.sub(r"<(script|style).*?</\1>", "", render(report), flags=re.DOTALL)
    assert not re.search(r"\b(None|nan|inf)\b", text)
    assert not any(
        re.search(r"\b(None|nan)\b", sentence) for sentence in [answer(corpora_of(CASES[case])), *remarks(corpora_of(CASES[case]), BLOCKS)]
    )
    assert all(len(row) == len(table.header) for table in report.tables for row in table.rows)


@pytest.mark.parametrize("case", ["some undefined", "length 4", "below zero"])
def test_every_figure_can_be_a_file(case):
    for plot in report_of(CASES[case]).plots:
        assert draw(plot, "svg").lstrip().startswith(b"<?xml")


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("one", "in windows of 64 tokens of novel.txt, 14.0 % (12.0 to 16.0 %) ignore order; 51.6 % depend on how far apart"),
        (
            "two",
            "make up 50.0 % (48.0 to 52.0 %) in a.txt, the most symmetric of these corpora, and 10.0 % (8.0 to 12.0 %) in char:b_c.txt,",
        ),
        ("undefined", "in windows of 64 tokens of novel.txt cannot be told from noise, so there is nothing to share out: the score is"),
        ("some undefined", "ignore order. 1 of 2 corpora has no correlations beyond noise, hence no score."),
        ("beyond one", "100.8 % (98.8 to 102.8 %), all of them within the error, ignore order"),
        ("below zero", "−0.3 % (−2.3 to 1.7 %) ignore order"),
        ("uneven", "14.0 % (12.0 to 16.0 %), most of it from a few windows, ignore order"),
    ],
)
def test_answer(case, words):
    assert words in answer(corpora_of(CASES[case]))


@pytest.mark.parametrize(
    ("corpora", "words"),
    [
        ([{}], "drawing the 16 blocks of a text again: they cover sampling within a text, not the choice of texts."),
        ([{"name": "a", "score": 0.5}, {"name": "b", "score": 0.48}], "where they overlap, as for a and b, the order is open."),
        ([{}], "Between tokens 10 or more apart the share is 24.0 %."),
        ([{"length": 4}], "Between tokens 2 or more apart the share is 16.0 %."),
        ([{"name": "a"}, {"name": "b", "score": 0.1}], "apart the share is 20.0 % in b and up to 24.0 % in a."),
        ([{}], "Correlations are weak, 0.0300 times the covariance of a token with itself: with that counted in"),
        ([{"name": "a", "rms": 0.3}, {"name": "b"}], "Correlations are weak in 1 of 2 corpora"),
        ([{}], "with it the score would come out as 0.112 instead of 0.140."),
        (
            [{"influence": UNEVEN}],
            "Warning: 4 of 2,234 windows of novel.txt carry half of what ignores order; they are full of '*' and '_'.",
        ),
        ([{"influence": UNEVEN | {"uneven": False, "blocks": [0.0, 0.03]}}], "without block 2 of 2 the score of novel.txt would be 0.110"),
        ([{}], "Shuffled inside windows the corpus scores 1 within the interval, as must be."),
        ([{"nulls": {"window": score_of(0.9)}}], "but novel.txt scores 0.900 [0.880, 0.920]: one interval in twenty misses by chance"),
        ([{"nulls": {"window": score_of(0.9)}, "method": "sketch"}], "the noise of sketches is gone with --method exact."),
        ([{"nulls": {"global": score_of(0.9)}}], "Shuffled as a whole a corpus has no correlations, but in novel.txt some seem left"),
        ([{"score": 1.008}], "Estimates without bias may lie a little below 0 or above 1."),
        ([{"score": None, "rms": 0.0004}], "the correlations of novel.txt (rms 0.0004) cannot be told from none"),
    ],
)
def test_remarks_say_what_applies(corpora, words):
    assert words in " ".join(remarks(corpora_of(result_of(*(corpus_of(**fields) for fields in corpora))), BLOCKS))


def test_remarks_do_not_say_what_does_not_apply():
    said = " ".join(remarks(corpora_of(result_of(corpus_of(rms=0.5, nulls={}, length=2))), BLOCKS))
    for words in ("Warning", "Shuffled", "weak", "apart", "Undefined", "below 0", "overlap"):
        assert words not in said


def test_score_rows():
    table = score_table(corpora_of(CASES["some undefined"]), "")
    first, second = table.rows
    assert first == [
        *("a.txt", "word", "34,154", "500", "0.500", "[0.480, 0.520]", "0.300", "0.200", "0.0300", "1.000 [0.980, 1.020]"),
    ]
    assert second == ["b.txt", "word", "34,154", "500", "undefined", "–", "–", "–", "0.0300", "undefined"]
    assert len(first) == len(table.header)
    assert score_table(corpora_of(CASES["bare"]), "").rows[0][-1] == "–"


def test_detail_rows():
    corpora, bare = corpora_of(CASES["two"]), corpora_of(CASES["bare"])
    nulls = null_table(corpora).rows[0]
    assert nulls == [
        "a.txt",
        "0.500 [0.480, 0.520]",
        "0.0300",
        "1.000 [0.980, 1.020]",
        "0.0300",
        "undefined",
        "0.0000",
    ]
    assert irrep_table(corpora).rows[1][:2] == ["char:b_c.txt", "0.250 [0.200, 0.300]"]
    assert third_table(corpora).rows[0] == ["a.txt", "0.250", "[0.200, 0.300]", "5.0"]
    assert harmonics_table(corpora).rows[2] == ["a.txt", "off-site", "0.170", "−0.030", "0.500", "–", "–", "–", "–", "–"]
    assert influence_table(corpora).rows[0] == ["a.txt", "500", "90", "10.0 %", "'the' 'of'", "+0.001"]
    assert irrep_table(bare).rows == third_table(bare).rows == harmonics_table(bare).rows == []


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["/data/a.txt", "char:/data/a.txt"], ["a.txt", "char:a.txt"]),
        (["one/a.txt", "two/a.txt", "b.txt"], ["one/a.txt", "two/a.txt", "b.txt"]),
        (["x/y/a.txt", "z/y/a.txt"], ["x/y/a.txt", "z/y/a.txt"]),
        (["texts/", r"C:\texts\b.txt", "-", "corpus/*.txt"], ["texts", "b.txt", "standard input", "corpus/*.txt"]),
        (["a_name_that_is_much_too_long_to_be_shown.txt"], ["a_name_that…be_shown.txt"]),
        (["a_name_that_is_much_too_1_long_to_be_shown.txt", "a_name_that_is_much_too_2_long_to_be_shown.txt"], None),
    ],
)
def test_labels_are_short_and_differ(names, wanted):
    found = labels([SimpleNamespace(name=name, tokens="char") for name in names])
    assert found == wanted if wanted else len(set(found)) == len(found)
    assert all(len(label) <= 24 for label in found)


def test_the_file_says_it_all():
    text = re.sub(r"<script.*?</script>", "", render(report_of(CASES["two"])), flags=re.DOTALL)
    for words in ("How much of the correlations of these texts ignores order?", "char:b_c.txt", "chi2-floor metric", "[L−2,1,1]"):
        assert words in text
    assert "S = L (L−1) ‖B‖² / Σ<sub>a≠b</sub> ‖K<sub>ab</sub>‖²" in text
    # Both numbers of the most symmetric corpus, with and without single positions.
    assert "in a.txt their mean cosine is 0.930 with A (0.730 at least), and without it 0.170 (−0.030 at least)" in text
    assert text.count("<table") == 9
    assert "this text" in report_of(CASES["one"]).question


@pytest.mark.parametrize(
    ("metric", "words"), [("chi2-floor", "rarer than one in a thousand"), ("chi2", "contingency"), ("plain", "weighed alike")]
)
def test_the_metric_is_explained(metric, words):
    assert any(words in step.text for step in report_of(result_of(corpus_of(), metric=metric)).method)


def test_what_is_missing_is_not_drawn():
    titles = [plot.title for plot in report_of(CASES["bare"]).plots]
    assert titles == ["What the correlations depend on", "Without short lags", "Correlations by lag", "Windows of several lengths"]
    assert report_of(CASES["bare and undefined"]).plots == []
    assert [plot.title for plot in report_of(CASES["length 2"]).plots][:2] == [
        "What the correlations depend on",
        "The same tokens in random order",
    ]


def test_undefined_corpora_are_marked_and_not_drawn_as_zero():
    figure = score_plot(corpora_of(CASES["some undefined"])).figure
    assert list(figure.data[0].x) == [50.0, None]
    assert (list(figure.data[1].y), list(figure.data[1].text)) == ([1], ["undefined"])
    parts = split_plot(corpora_of(CASES["some undefined"])).figure.data[:3]
    assert sum(part.x[0] for part in parts) == pytest.approx(100.0)


def test_at_most_eight_corpora_are_coloured():
    plot = lag_plot(corpora_of(CASES["many"]))
    assert sum(bool(trace.showlegend) for trace in plot.figure.data) == 8
    assert sum(trace.fill is None for trace in plot.figure.data) == 25
    assert "Of 25 corpora 8 are in colour" in plot.caption


def test_names_are_no_formulas():
    assert str(formula(literal("b_c^2"))) == "b_c^2"


def test_matplotlib_stacks_bars_and_lays_them_down():
    figure = go.Figure()
    figure.add_bar(x=[3.0, None], y=[0, 1], orientation="h", name="left")
    figure.add_bar(x=[1.0, -2.0], y=[0, 1], orientation="h", name="right", error_x={"type": "data", "array": [0.1, 0.1]})
    figure.add_scatter(x=[0.0], y=[1], text=["nothing"], mode="text")
    figure.add_scatter(x=[1, 2], y=[0, 1], mode="lines", line={"shape": "hv"})
    figure.update_layout(barmode="relative")
    drawn: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        lay, write = Axes.barh, Axes.text
        patch.setattr(Axes, "barh", lambda axes, *args, **style: drawn.append(style["left"]) or lay(axes, *args, **style))
        patch.setattr(Axes, "text", lambda axes, *args, **style: drawn.append(args) or write(axes, *args, **style))
        draw(Plot(figure, "Bars", ""), "png")
    assert drawn == [[0.0, 0.0], [3.0, 0.0], (0.0, 1.0, "nothing")]
