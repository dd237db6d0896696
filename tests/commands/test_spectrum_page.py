"""The page of `specht spectrum` from results as they come, exact and sampled, whole and poor."""

from __future__ import annotations

import re
from typing import Any

import pytest

from specht.commands.spectrum import SpectrumCommand, page
from specht.commands.spectrum.page import exponent
from specht.report import Report, listed, render, theory_figures
from specht.trees import named, tree


def top(family: str, irrep: str, degeneracy: int, eigenvalue: float, trace: float = 10.0, **changes: Any) -> dict[str, Any]:
    level = sum(int(part) for part in irrep.strip("[]").split(",")[1:])
    fields = {"irrep": irrep, "family": family, "level": level, "degeneracy": degeneracy, "eigenvalue": eigenvalue}
    fields |= {"bound": trace / degeneracy, "ratio": eigenvalue * degeneracy / trace}
    return fields | {"stderr": None, "lower_bound": False, "resolved": True, "below_rounding": False} | changes


def entry(length: int, tops: list[dict[str, Any]], rows: list[dict[str, Any]] | None = None, **changes: Any) -> dict[str, Any]:
    fields = {"length": length, "method": "linear", "trace": 10.0, "trace_stderr": None, "gap": None, "place": None}
    return fields | {"top": tops, "rows": tops if rows is None else rows} | changes


def fit(family: str, level: int, raw: float, normalised: float, stderr: float | None = 0.04) -> dict[str, Any]:
    fields = {"family": family, "level": level, "expected": -level, "lengths": [8, 16], "mixed": False}
    exponents = {name: {"value": value, "stderr": stderr, "scatter": 0.0} for name, value in (("raw", raw), ("normalised", normalised))}
    local = [{"start": 8, "stop": 16} | exponents]
    return fields | exponents | {"bound": {"value": -float(level), "stderr": 0.1, "scatter": 0.0}, "local": local}


ENTRIES = [
    entry(8, [top("[L]", "[8]", 1, 5.0), top("[L-1,1]", "[7,1]", 7, 0.2)], place="well below"),
    entry(16, [top("[L]", "[16]", 1, 5.0), top("[L-1,1]", "[15,1]", 15, 0.1)], place="around"),
]
RESULT: dict[str, Any] = {
    "architecture": "V=4 | linear",
    "kind": "nngp",
    "source": {"name": "uniform", "exchangeable": True},
    "rounding": 1e-14,
    "lengths": ENTRIES,
    "exponents": [fit("[L]", 0, 0.3, 0.0, 0.001), fit("[L-1,1]", 1, -1.0, -1.234)],
    "crossover": 64.0,
}
NOISE = {"stderr": 0.01, "lower_bound": True}
QUOTIENT = {"stderr": 0.01, "lower_bound": False}  # a quotient over a source with order bounds nothing
SAMPLED = RESULT | {
    "source": {"name": "graded", "exchangeable": False},
    "crossover": None,
    "lengths": [
        entry(length, [top("[L]", f"[{length}]", 1, 5.0, **QUOTIENT)], method="rayleigh", trace_stderr=0.1, gap=gap)
        for length, gap in ((8, {"value": 0.01, "exact": True, "stderr": 0.0}), (16, {"value": 0.25, "exact": False, "stderr": 0.01}))
    ],
}


def report_of(result: dict[str, Any]) -> Report:
    return Report(**vars(SpectrumCommand().page(tree(result))), reproduce="specht spectrum", made_with={"seed": "0"})


def top_rows(result: dict[str, Any]) -> list[list[str]]:
    return page.top_rows(named(result))


def exponent_rows(result: dict[str, Any]) -> list[list[str]]:
    return page.exponent_table(named(result)).rows


def remarks(result: dict[str, Any]) -> list[str]:
    return page.remarks(named(result))


def scaling_plot(entries: list[dict[str, Any]], **words: Any):
    return page.scaling_plot(named(entries), **words)


def spectrum_plot(entries: list[dict[str, Any]], **words: Any):
    return theory_figures.spectrum_plot(named(entries), **words)


def test_answer_gives_exponents_and_samples():
    answer = report_of(RESULT).answer
    assert "goes as L^{0.00} for [L] and L^{−1.23} for [L−1,1], and the samples needed go as the inverse" in answer
    assert "At L = 16" in answer
    assert "2.0 for [16] and 100 for [15,1]." in answer  # E[k] / eigenvalue


def test_answer_of_a_single_length_speaks_of_samples_alone():
    report = report_of(RESULT | {"lengths": ENTRIES[:1], "exponents": []})
    assert report.answer.startswith("At L = 8")
    assert "How large is the eigenvalue" in report.question
    assert [plot.title for plot in report.plots] == ["The spectrum at L = 8"]
    assert [table.title for table in report.tables] == ["Top eigenvalue of each irrep"]


def test_answer_of_a_source_with_order_promises_no_samples():
    answer = report_of(SAMPLED).answer
    assert "Rayleigh quotient" in answer
    assert "samples" not in answer


def test_a_kernel_that_is_zero_is_said_to_be():
    nothing = [entry(8, [top("[L]", "[8]", 1, 0.0, resolved=False, below_rounding=True)], trace=0.0)]
    report = report_of(RESULT | {"lengths": nothing, "exponents": [], "crossover": None})
    assert report.answer.startswith("The kernel is zero")
    assert render(report)


def test_many_samples_are_a_power_of_ten():
    lengths = [entry(8, [top("[L-1,1]", "[7,1]", 7, 1e-8)])]
    assert "1.0 · 10^{9} for [7,1]" in report_of(RESULT | {"lengths": lengths, "exponents": []}).answer


def test_the_file_says_it_all():
    text = re.sub(r"<script.*?</script>", "", render(report_of(RESULT)), flags=re.DOTALL)
    for words in ("The spectrum of a transformer", "V=4 | linear", "L<sup>−1.23</sup>", "[15,1]", "E[k] = 10, linear", "specht spectrum"):
        assert words in text
    assert "L* = s<sub>p</sub>² / (s<sub>w</sub>² c)" in text
    assert "N* = δ / λ + Σ<sub>j</sub> λ<sub>j</sub> / (λ<sub>j</sub> + λ)" in text
    assert text.count("<table") == 2


class TestTables:
    def test_top_rows(self):
        assert top_rows(RESULT)[:3] == [
            ["L = 8", "E[k] = 10, linear", "", "", ""],
            ["[8]", "1", "5", "10", "0.5"],
            ["[7,1]", "7", "0.2", "1.429", "0.14"],
        ]

    def test_lower_bounds_and_rounding_are_marked(self):
        tops = [top("[L]", "[8]", 1, 5.0, **NOISE), top("[L-1,1]", "[7,1]", 7, 1e-16, resolved=False)]
        rows = top_rows(RESULT | {"lengths": [entry(8, tops)]})
        assert rows[1][2] == "≥ 5 ± 0.01"
        assert rows[2][2:] == ["below 1e-14 E[k]", "1.429", ""]
        assert top_rows(SAMPLED)[1][2] == "5 ± 0.01"
        assert top_rows(SAMPLED)[0][1] == "E[k] = 10 ± 0.1, rayleigh"

    def test_exponents(self):
        assert exponent_rows(RESULT) == [
            ["[L]", "0.30", "0.00", "0.00", "0", "0.00"],
            ["[L-1,1]", "−1.00 ± 0.04", "−1.23 ± 0.04", "−1.00", "−1", "−1.23"],
        ]
        assert exponent(-0.001) == "0.00"

    def test_high_levels_stay_in_the_files(self):
        tops = [top("[L]", "[8]", 1, 5.0), top("[L-4,4]", "[4,4]", 14, 0.1)]
        result = RESULT | {"lengths": [entry(8, tops, place="around")], "exponents": [fit("[L-4,4]", 4, -4, -4)]}
        assert "[4,4]" not in str(top_rows(result))
        assert exponent_rows(result) == []
        assert "Levels above 3 are in the files." in remarks(result)

    def test_listed(self):
        assert [listed(words) for words in ([], [1], [1, 2], [1, 2, 3])] == ["", "1", "1 and 2", "1, 2 and 3"]


class TestRemarks:
    def test_of_the_linear_model(self):
        said = " ".join(remarks(RESULT))
        assert "Method linear: exact" in said
        assert "Crossover of the linear model at L* = 64" in said
        assert "L = 8 lies well below it; L = 16 lies around it." in said
        assert "exchangeable" not in said

    def test_of_a_source_with_order(self):
        said = " ".join(remarks(SAMPLED))
        assert "Method rayleigh: sampled" in said
        assert "permuting 16 positions changes its law by a total variation of 0.25 ± 0.01." in said
        assert "no eigenvalues of the irrep" in said
        assert "lower bounds on" not in said
        assert "eigenvalues of a kernel of sampled heads" not in said

    def test_of_two_methods(self):
        lengths = [entry(8, ENTRIES[0]["top"], method="young"), entry(16, [top("[L]", "[16]", 1, 5.0, **NOISE)], method="rayleigh")]
        mixed = [fit("[L]", 0, 0.0, 0.0) | {"mixed": True}]
        said = " ".join(remarks(RESULT | {"lengths": lengths, "exponents": mixed, "crossover": None}))
        assert "Method young at L = 8: exact" in said
        assert "Method rayleigh at L = 16: sampled" in said
        assert "Values with ≥ are sampled lower bounds" in said
        assert "The fits of [L] run through eigenvalues at some lengths and lower bounds at others." in said

    def test_of_sampled_heads(self):
        lengths = [entry(8, [top("[L]", "[8]", 1, 5.0, stderr=0.1)], method="two tokens", place="around")]
        said = " ".join(remarks(RESULT | {"lengths": lengths}))
        assert "Method two tokens: sampled, by differences" in said
        assert "eigenvalues of a kernel of sampled heads, with a standard error; where copies of an irrep are nearly equal" in said

    @pytest.mark.parametrize(("stderr", "why"), [(None, "below rounding"), (0.1, "below rounding or within three standard errors of zero")])
    def test_of_what_is_left_out(self, stderr, why):
        tops = [top("[L]", "[8]", 1, 5.0, stderr=stderr), top("[L-1,1]", "[7,1]", 7, 0.0, stderr=stderr, resolved=False)]
        said = remarks(RESULT | {"lengths": [entry(8, tops, place="around")]})
        assert f"Of 2 rows 1 are {why}: they are neither drawn nor fitted." in said


class TestFigures:
    @pytest.mark.parametrize("normalised", [False, True])
    def test_a_curve_and_its_bound_share_a_colour(self, normalised):
        figure = scaling_plot(ENTRIES, normalised=normalised, title="", caption="").figure
        unit = 10.0 if normalised else 1.0
        trivial, trivial_bound, standard, bound, legend = figure.data
        assert list(standard.x) == [8, 16]
        assert list(standard.y) == [0.2 / unit, 0.1 / unit]
        assert list(bound.y) == pytest.approx([10 / 7 / unit, 10 / 15 / unit])
        assert standard.line.color == bound.line.color != trivial.line.color == trivial_bound.line.color
        assert (bound.line.dash, bound.showlegend, legend.name) == ("dash", False, "bound E[k]/dim")
        assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
        assert list(figure.layout.xaxis.tickvals) == [8, 16]

    def test_sampled_points_have_error_bars(self):
        curve, *_ = scaling_plot(SAMPLED["lengths"], normalised=True, title="", caption="").figure.data
        assert list(curve.error_y.array) == pytest.approx([0.001, 0.001])
        assert curve.error_y.visible
        exact, *_ = scaling_plot(ENTRIES, normalised=True, title="", caption="").figure.data
        assert not exact.error_y.visible

    def test_what_is_not_resolved_is_not_drawn_but_counted(self):
        below = entry(32, [top("[L]", "[32]", 1, 5.0), top("[L-1,1]", "[31,1]", 31, 1e-17, resolved=False)])
        plot = scaling_plot([*ENTRIES, below], normalised=False, title="", caption="Curves.")
        assert list(plot.figure.data[2].x) == [8, 16]
        assert plot.caption == "Curves. 1 value that is not above rounding or noise is left out."

    def test_multiplets_are_as_wide_as_their_degeneracy(self):
        rows = [*ENTRIES[1]["top"], top("[L]", "[16]", 1, 0.05), top("[L]", "[16]", 1, 1e-17, resolved=False)]
        higher = top("[L-4,4]", "[12,4]", 1260, 0.001)
        plot = spectrum_plot([entry(16, [*ENTRIES[1]["top"], higher], [*rows, higher])], title="", caption="All.")
        trivial, standard, rest = plot.figure.data
        assert list(trivial.x) == [1, 1, None, 17, 17, None]
        assert list(standard.x) == [2, 16, None]
        assert list(standard.y) == [0.1, 0.1, None]
        assert (rest.name, list(rest.x)) == ("higher levels", [18, 1277, None])
        assert plot.caption == "All. 1 value that is not above rounding or noise is left out."

    def test_ticks_suit_the_range(self):
        wide = [entry(8, [top("[L]", "[8]", 1, 5.0), top("[L-1,1]", "[7,1]", 7, 1e-13)])]
        assert spectrum_plot(wide, title="", caption="").figure.layout.yaxis.dtick == 2
        narrow = [entry(8, [top("[L]", "[8]", 1, 5.0), top("[L-1,1]", "[7,1]", 7, 4.0)])]
        assert spectrum_plot(narrow, title="", caption="").figure.layout.yaxis.dtick == "D2"
