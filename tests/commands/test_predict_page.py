"""The page of `specht predict` at finite width: the answer, the tables, the figures."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from specht.commands.predict import MixtureFlags, PredictCommand, PredictConfig
from specht.commands.predict.figures import phase_plot
from specht.commands.predict.page import answer, curve_table, finite_table, predict_page
from specht.commands.predict.phases import diagram, jobs_of
from specht.commands.task_flags import TargetFlags
from specht.lab.config import ArchitectureFlags
from specht.report.static import draw
from specht.report.theory_figures import curve_plot
from specht.trees import facts, named, tree

CONFIG = PredictConfig(
    architecture=ArchitectureFlags(vocab=2, length=8),
    source=MixtureFlags(source="uniform"),
    target=TargetFlags(target="level", support=1),
    n_train=(8, 32, 128),
    width=(8, 64),
    ridge=0.1,
)
PHASES: dict[str, Any] = {
    "n_train": [8, 16, 32, 64],
    "at_width": 16,
    "by_width": {
        "width": [8, 16, 32],
        "learned": [[0.1, 0.5, 0.9, 1.0], [0.1, 0.4, 0.8, 0.9], [0.1, 0.2, 0.4, 0.6]],
        "transition": [{"samples": 16.0, "kind": "crossover"}, {"samples": 45.25, "kind": "crossover"}, {"samples": None, "kind": "none"}],
    },
    "by_length": None,
}


@functools.cache
def computed() -> Any:
    return PredictCommand().compute(CONFIG)


@pytest.fixture
def result() -> SimpleNamespace:
    return facts(computed())


def networks(width: int, **changes: Any) -> SimpleNamespace:
    """What sampled networks would have added."""
    none = {"excess": [None], "regime": None, "warnings": []}
    return named({"size": {"width": width}, "n_train": [8], "test": [0.5], "test_stderr": [0.1]} | none | changes)


def test_the_answer_speaks_of_finite_width_first(result):
    first, second, *rest = answer(result)
    assert first.startswith("By theory transformers of widths 8 and 64 learn the target to an error of 10 % of its variance from about ")
    assert "; at infinite width it takes " in first
    assert second.startswith(
        "Of the target's mean square 100 % singles out 1 position (level 1: at infinite width half of that is learnt from "
    )
    assert second.endswith(" samples).")
    assert rest == [
        "The theory of finite width leaves out fluctuations, and tends to be too optimistic where there are more positions than half "
        "the width, as at width 8 here."
    ]


@pytest.mark.parametrize(
    ("samples", "words"),
    [([None, 40.0], "from more than 128 and 40 samples"), ([8.0, 40.0], "from at most 8 and 40 samples")],
)
def test_a_number_beyond_the_curve_is_a_bound(samples, words, result):
    result.finite.samples = samples
    assert words in answer(result)[0]


def test_no_width_may_be_enough(result):
    result.finite.samples = [None, None]
    assert (
        "transformers of widths 8 and 64 do not learn the target to an error of 10 % of its variance from 128 samples" in answer(result)[0]
    )


def test_nothing_is_enough_at_infinite_width(result):
    result.error.samples = None
    assert "; at infinite width no number of samples is enough." in answer(result)[0]


def test_a_nonlinear_activation_is_warned_of(result):
    assert result.finite.nonlinear is False
    assert not any("nonlinear" in sentence for sentence in answer(result))
    result.finite.nonlinear = True
    assert any(sentence.endswith("networks may need far fewer samples; specht.adapt samples them.") for sentence in answer(result))


def test_without_finite_width_the_answer_is_as_it_was(result):
    result.finite, result.finite_note = None, "Finite width is left out: for a reason."
    said = answer(result)
    assert said[0].startswith("An error of 10 % of the target's variance needs about")
    assert said[-1] == "Finite width is left out: for a reason."


def test_networks_stand_beside_their_width(result):
    result.net = networks(64)
    table = curve_table(result)
    assert table.header == ["N", "test, width 8", "test, width 64", "networks", "infinite: test", "train", "learnt"]
    assert [row[3] for row in table.rows] == ["0.5 ± 0.1", "", ""]
    expected = f"{result.finite.test[1][0]:.3g}"
    assert answer(result)[-1].startswith(f"Theory at width 64 expects {expected} there, and these networks have 0.5 ± 0.1, ")
    result.net = networks(32)  # the theory has no such curve
    assert "networks" not in curve_table(result).header
    assert "Theory at width" not in answer(result)[-1]


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        (1.5, "which agrees."),
        (4.0, "4.0 standard errors more."),
        (-3.0, "3.0 standard errors less."),
    ],
)
def test_networks_are_compared_in_standard_errors(errors, words, result):
    expected = result.finite.test[1][0]
    result.net = networks(64, test=[expected + 0.1 * errors], warnings=["Take a smaller step."])
    *_, compared, last = answer(result)
    assert compared.endswith(f" ± 0.1, {words}")
    assert last == "Take a smaller step."


def test_networks_have_the_colour_of_their_width_and_no_other_losses(result):
    result.net = networks(64, train=[0.2], train_stderr=[0.01])
    drawn: Any = curve_plot(result, title="", caption="").figure.data
    points = [trace for trace in drawn if trace.mode == "markers"]
    line = next(trace for trace in drawn if trace.name == "width 64")
    assert [list(each.y) for each in points] == [[0.5]]
    assert points[0].marker.color == line.line.color
    result.net.size.width = 32  # the theory has no such line
    points = [trace for trace in curve_plot(result, title="", caption="").figure.data if trace.mode == "markers"]
    assert [list(each.y) for each in points] == [[0.2], [0.5]]  # the test loss on top


def test_widths_are_compared_in_a_table(result):
    rows = finite_table(result).rows
    assert [row[0] for row in rows] == ["8", "64", "infinite"]
    assert rows[1][2] == "not up to 128"
    assert rows[0][3] == "crossover"


def test_the_report_has_curves_and_order_parameters(result):
    report = predict_page(result)
    lines = report.plots[0].figure.data
    assert [line.name for line in lines] == ["equivalent kernel", "train", "infinite width", "width 64", "width 8"]  # the last on top
    in_legend = [line.name for line in sorted(lines, key=lambda line: line.legendrank)]
    assert in_legend == ["width 8", "width 64", "infinite width", "train", "equivalent kernel"]
    np.testing.assert_allclose(lines[-1].y, result.finite.test[0])
    strength = report.plots[1].figure.data[-1]
    np.testing.assert_allclose(strength.y, result.finite.strength[1])
    assert any("saddle point" in step.text for step in report.method)
    assert [table.title for table in report.tables[:2]] == ["The learning curve", "Finite widths"]


def curve_figure(result: SimpleNamespace) -> Any:
    return predict_page(result).plots[0]


def test_an_axis_of_few_losses_has_numbers(result):
    assert curve_figure(result).figure.layout.yaxis.tickvals is None  # powers of ten are enough
    result.finite.test = [[0.7, 0.5, 0.4], [0.7, 0.5, 0.4]]
    vars(result.theory).update({name: [0.75, 0.5, 0.3] for name in ("test", "train", "equivalent_test")})
    assert list(curve_figure(result).figure.layout.yaxis.ticktext) == ["0.3", "0.4", "0.5", "0.7"]


def test_what_lies_below_the_figure_is_told(result):
    assert "are not drawn" not in curve_figure(result).caption
    result.finite.test[0] = [0.7, 0.5, 1e-8]
    cut = curve_figure(result)
    assert cut.figure.data[-1].y[-1] is None
    assert "Losses below a millionth of the largest are not drawn." in cut.caption


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_figures_of_finite_width_become_files(kind, result):
    result.phases = named(PHASES)
    report = predict_page(result)
    assert [plot.title for plot in report.plots[1:3]] == [
        "How much the positions that the target reads stand out",
        "Phases: samples and width",
    ]
    assert all(draw(plot, kind) for plot in report.plots[:3])


def test_the_line_of_a_phase_diagram_lies_among_its_cells():
    plot = phase_plot(named(PHASES), "width", title="")
    line = plot.figure.data[1]
    np.testing.assert_allclose(line.x, [1.0, 2.5], atol=1e-3)  # between the second and the fourth number of samples
    assert list(line.y) == [0, 1]
    assert "left its kernel" in plot.caption


def test_a_diagram_without_a_line_says_so():
    never = {"samples": None, "kind": "none"}
    phases = PHASES | {"by_length": PHASES["by_width"] | {"length": [8, 16, 32], "transition": [never] * 3}}
    plot = phase_plot(named(phases), "length", title="")
    assert len(plot.figure.data) == 1
    assert "Nowhere here does a position that the target reads get twice" in plot.caption
    assert "width 16 at each length" in plot.caption


def test_diagrams_are_made_of_rows():
    jobs = jobs_of(CONFIG.model_copy(update={"phases": True, "n_train": (8, 16)}))
    found = [diagram(axis, {8: row[8].run()}) for axis, row in jobs.items()]
    by_width, by_length = (facts(tree(part)) for part in found if part is not None)
    assert by_width.learned == by_length.learned
    assert (by_width.width, by_length.length) == ([8], [8])
    assert len(by_length.test) == 1
    assert diagram("length", {}) is None
