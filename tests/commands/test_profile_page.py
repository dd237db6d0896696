"""The page of `specht profile` from results as they come, of low and high level, constant and zero."""

from __future__ import annotations

import re
from typing import Any

import pytest

from specht.commands.profile import IRREP_COLUMNS, ProfileCommand, ProfileConfig, level_rows, remarks
from specht.report import Report, Table, render
from specht.report.function_figures import correlation_plot, share_plot
from specht.trees import named, tree

CURVE = {"positions": [0, 8, 16], "values": [1, 0.5, 0.1], "stderr": [0.01] * 3, "curve_positions": [0, 16], "curve": [1, 0.1]}


def estimate(value: float) -> dict[str, float]:
    return {"value": value, "low": 0.9 * value, "high": 1.1 * value}


def parts_of(weights: list[float], above: float, total: float, variance: float, mean_square: float) -> list[dict[str, Any]]:
    names = [*map(str, range(len(weights))), f">{len(weights) - 1}"]
    varying = [weights[0] - mean_square, *weights[1:], above]
    parts = []
    for name, weight, part in zip(names, [*weights, above], varying, strict=True):
        share = weight / total if total else 0.0
        shares = {"share": share, "share_low": 0.9 * share, "share_high": 1.1 * share}
        shares |= {"variance_share": part / variance if variance else 0.0}
        parts.append({"level": name, "weight": weight, "low": 0.9 * weight, "high": 1.1 * weight} | shares)
    return parts


def result_of(weights: list[float], above: float = 0.0, mean_square: float = 0.0, **changes: Any) -> dict[str, Any]:
    total = sum(weights) + above
    variance = total - mean_square
    fields: dict[str, Any] = {
        "target": "parity of 3",
        "source": {"name": "uniform", "exchangeable": True},
        "gap": None,
        "vocab": 2,
        "length": 16,
        "levels": list(range(len(weights))),
        "parts": parts_of(weights, above, total, variance, mean_square),
        "total": total,
        "mean_square": estimate(mean_square),
        "variance": variance,
        "order": estimate((sum(weights[1:]) + above) / variance if variance else 0.0),
        "shuffled": False,
        "shapes": [{"irrep": "[15,1]", "level": 1, "weight": 0.25, "low": 0.2, "high": 0.3}],
        "correlation": CURVE,
        "samples": 4000,
        "evaluations": 176000,
        "confidence": 0.95,
        "interval": "likelihood",
    }
    return fields | changes


def report_of(result: dict[str, Any]) -> Report:
    return ProfileCommand().report(ProfileConfig(target="parity"), tree(result))


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (result_of([0.1, 0.1, 0.8]), "Most of the variance of this function, 80.0 %, lies at level 2: it singles out 2 positions."),
        (result_of([0.1, 0.1, 0.8]), "at least of the order of L^{2} = 256 samples to learn this part."),
        (
            result_of([0.3, 0.4, 0.3]),
            "The largest part of the variance of this function, 40.0 %, lies at level 1: it singles out one",
        ),
        (result_of([0.3, 0.4, 0.3]), "of L = 16 samples to learn this part, and L^{2} = 256 samples for the 30.0 % at level 2."),
        (result_of([0.9, 0.1]), "grows with the length; the 10.0 % at level 1 need at least of the order of L = 16 samples."),
        (result_of([0.96, 0.04]), "has no factor that grows with the length."),
        (result_of([9.9, 0.4, 0.3], mean_square=9.8), "50.0 %, lies at level 1"),
        (result_of([0.9, 0.1]), "90.0 %, lies at level 0: it ignores the order of the tokens."),
        (result_of([0.1, 0.1], above=0.8), "lies above level 1: it singles out more than 1 positions."),
        (result_of([0.1, 0.1], above=0.8, length=10**4), "of the order of L^{2} = 1.0 · 10^{8} samples or more"),
        (result_of([4.0, 0.0], mean_square=4.0), "The function is constant"),
        (result_of([0.0, 0.0]), "The function is zero for every sequence that was drawn"),
    ],
)
def test_answer(result, words):
    report = report_of(result)
    assert words in report.answer
    assert render(report)


def test_the_file_says_it_all():
    text = re.sub(r"<script.*?</script>", "", render(report_of(result_of([0.1, 0.1, 0.8]))), flags=re.DOTALL)
    for words in ("The symmetry profile of a function", "parity of 3 · V=2 L=16 · uniform source", "L<sup>2</sup> = 256", "[15,1]"):
        assert words in text
    assert "C(j) = E[ f(x) f(shuffle<sub>j</sub> x) ]" in text
    assert "χ² ≤ χ²<sub>min</sub> + q" in text
    assert text.count("<table") == 2


def test_order_in_the_source_is_said():
    gap = {"value": 0.25, "exact": False, "stderr": 0.01}
    result = result_of([0.5, 0.5], shuffled=True, gap=gap, source={"name": "graded", "exchangeable": False})
    assert "changes its law by a total variation of 0.25 ± 0.01" in " ".join(remarks(named(result)))
    assert "shuffled first" in report_of(result).method[-1].text
    assert "total variation of 0.25. " in " ".join(remarks(named(result | {"gap": gap | {"exact": True}})))


def test_level_rows():
    rows = level_rows(named(result_of([0.52, 0.2], above=0.08, mean_square=0.4)))
    assert rows[0] == ["0", "0.52", "0.468 to 0.572", "65.0 %", "58.5 to 71.5 %", "30.0 %"]
    assert rows[2] == ["above 1", "0.08", "0.072 to 0.088", "10.0 %", "9.0 to 11.0 %", "20.0 %"]
    assert rows[3] == ["total", "0.8", "", "", "", ""]
    assert [row[0] for row in level_rows(named(result_of([0.5, 0.2])))] == ["0", "1", "total"]
    assert Table.of(named(result_of([1.0])).shapes, IRREP_COLUMNS).rows == [["[15,1]", "1", "0.25", "0.2 to 0.3"]]


def test_constant_part_is_drawn_by_itself():
    plain = share_plot(named(result_of([0.5, 0.2], above=0.1)), title="", caption="").figure
    assert [list(trace.y) for trace in plain.data] == [pytest.approx([62.5, 25.0, 12.5])]
    stacked = share_plot(named(result_of([0.5, 0.2], above=0.1, mean_square=0.4)), title="", caption="").figure
    assert [list(trace.y) for trace in stacked.data] == [pytest.approx([50.0]), pytest.approx([12.5, 25.0, 12.5])]
    assert stacked.layout.showlegend


def test_correlation_plot_holds_the_curve():
    figure = correlation_plot(named(result_of([0.5, 0.5])), title="", caption="").figure
    assert list(figure.data[1].y) == [1, 0.5, 0.1]
    assert figure.layout.xaxis.type == "linear"


def test_real_results_make_a_page():
    command = ProfileCommand()
    page = command.page(command.compute(ProfileConfig(target="majority", support=3, length=9, samples=200)))
    assert "at level 1" in page.answer
