"""A report is one file that needs no network, with everything escaped."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from specht.report import Report, Step, Table, formula, render
from specht.report.figures import eigenvalue_plot, gram_heatmap

GRAM = np.array([[2.0, 1.0], [1.0, 2.0]])
REPORT = Report(
    title="A title",
    subtitle="V=4",
    question="What?",
    answer="This & that.",
    plots=[
        gram_heatmap(GRAM, title="Gram", caption="Pairs."),
        eigenvalue_plot({"k": np.array([3.0, 1.0])}, title="Eigenvalues", caption="Largest first."),
    ],
    tables=[Table(header=["", "k"], rows=[["trace", "4"]], note="A note.")],
    method=[Step("Because s_w matters:", ["K_{ab} = s_w² < 1"])],
    reproduce="specht kernel",
    made_with={"seed": "0"},
)


def without_scripts(html: str) -> str:
    return re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)


def test_everything_is_said():
    text = without_scripts(render(REPORT))
    for words in ("A title", "What?", "This &amp; that.", "Pairs.", "Largest first.", "trace", "A note.", "specht kernel", "seed"):
        assert words in text
    assert "Because s<sub>w</sub> matters" in text
    assert "K<sub>ab</sub> = s<sub>w</sub>² &lt; 1" in text


def test_needs_no_network():
    html = render(REPORT)
    assert not re.search(r"<script[^>]*\ssrc=", html)
    assert not re.search(r"<link[^>]*href=\"(?!data:)", html)
    assert "http" not in without_scripts(html)
    assert "@import" not in without_scripts(html)


def test_plotting_program_is_carried_once():
    html = render(REPORT)
    assert html.count('class="plotly-graph-div"') == 2
    assert len(html) < 6e6
    one = len(render(dataclasses.replace(REPORT, plots=REPORT.plots[:1])))
    assert len(html) - one < 2e4


def test_everything_is_escaped():
    evil = "<script>alert(1)</script>"
    words = dict.fromkeys(("title", "subtitle", "question", "answer", "reproduce"), evil)
    report = dataclasses.replace(
        REPORT, **words, made_with={evil: evil}, method=[Step(evil, [evil])], tables=[Table([evil], [[evil, evil]], evil, evil)]
    )
    html = render(report)
    assert evil not in html
    assert html.count("&lt;script&gt;alert(1)") >= 10


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("x_a", "x<sub>a</sub>"),
        ("K_{ab}^2", "K<sub>ab</sub><sup>2</sup>"),
        ("a < b", "a &lt; b"),
        ("Σ_{cd}", "Σ<sub>cd</sub>"),
        ("plain", "plain"),
    ],
)
def test_formula(text, html):
    assert formula(text) == html


class TestFigures:
    def test_heatmap_keeps_a_small_matrix(self):
        plot = gram_heatmap(GRAM, title="Gram", caption="Pairs.", order=np.array([1, 0]))
        np.testing.assert_array_equal(plot.figure.data[0].z, GRAM[::-1, ::-1])
        assert plot.caption == "Pairs."

    def test_heatmap_thins_a_large_matrix_and_says_so(self):
        plot = gram_heatmap(np.eye(1000), title="Gram", caption="Pairs.")
        assert plot.figure.data[0].z.shape == (300, 300)
        assert plot.caption == "Pairs. Of 1000 sequences, 300 evenly spaced ones are shown."

    def test_eigenvalues_at_rounding_are_left_out_and_counted(self):
        plot = eigenvalue_plot({"k": np.array([1.0, 4.0, 1e-15, -1e-16])}, title="", caption="Spectrum.", floor=1e-12)
        np.testing.assert_array_equal(plot.figure.data[0].y, [4.0, 1.0])
        np.testing.assert_array_equal(plot.figure.data[0].x, [1, 2])
        assert plot.caption == "Spectrum. Left out at the level of rounding: 2 of k."
        assert plot.figure.layout.xaxis.type == plot.figure.layout.yaxis.type == "log"
