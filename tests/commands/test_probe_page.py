"""The page of `specht probe` from results as they come: with layers and without, of models that see order and of those that do not."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
import xarray
from toy_probe import moments, result_of

from specht.commands.probe import ProbeCommand, ProbeConfig, layer_table, notes, output_rows, subtitle
from specht.lab.store import save_tree
from specht.report import Report, render
from specht.report.function_figures import adjacency_plot, class_plot, profile_plot, residual_plot
from specht.report.static import draw
from specht.trees import facts, named, plain


def report_of(data: xarray.DataTree) -> Report:
    return ProbeCommand().report(ProbeConfig(model="mine:my_model"), data)


@pytest.fixture(scope="module")
def data() -> xarray.DataTree:
    return result_of(moments)


@pytest.fixture(scope="module")
def layered(data) -> SimpleNamespace:
    return facts(data)


def test_the_file_says_it_all(data):
    report = report_of(data)
    text = re.sub(r"<script.*?</script>", "", render(report), flags=re.DOTALL)
    for words in ("Which permutations a model ignores", "mine:my_model", "The output sees order", "ε<sup>2/3</sup>", "S<sub>A</sub>"):
        assert words in text
    assert text.count("<table") == 2
    assert [plot.title for plot in report.plots] == [
        "What embedding makes of each position",
        "What sums makes of each position",
        "What order makes of each position",
        "How much permuting the context changes each layer",
        "How much of each layer needs order",
        "Whether nearby positions look alike",
    ]


def test_names_with_underscores_stay_as_they_are():
    report = report_of(result_of(lambda x: {"my_layer": x[:, :, None] * 1.0, "the_output": x[:, 0]}, profile_samples=0))
    text = render(report)
    assert "my_layer" in text
    assert "my<sub>" not in text


def test_a_model_without_layers():
    report = report_of(result_of(lambda x: x.sum(axis=1), profile_samples=0))
    assert [plot.title for plot in report.plots] == [
        "What output makes of each position",
        "How much permuting the context changes each layer",
    ]
    assert len(report.tables) == 1
    assert render(report)


def test_neighbouring_layers_that_do_the_same_share_a_picture():
    report = report_of(result_of(lambda x: [x[:, :, None] * 1.0, x[:, :, None] * 2.0, x[:, :, None] * 3.0, x[:, 0]], profile_samples=0))
    assert report.plots[0].title == "What layer 0 to layer 2 makes of each position"


def test_matrix_has_a_code_for_every_fate():
    views = [{"position": 1, "classes": [0, 0, 1, -1, 2, 2]}, {"position": 2, "classes": [0, 1, 2, 3, 4, 5]}]
    heatmap, *legend = class_plot(named(views), title="", caption="").figure.data
    assert [list(row) for row in heatmap.z] == [[2, 2, 1, 0, 3, 3], [1, 1, 1, 1, 1, 1]]
    assert [list(row) for row in heatmap.text] == [["", "", "", "×", "", ""], [""] * 6]
    assert [trace.name for trace in legend] == ["ignored", "told apart", "not told apart", "nor are these"]
    colours = dict(heatmap.colorscale)
    assert len(set(colours.values())) == 4


def test_numbers_of_the_figures(layered):
    rounding, sees, ignores = residual_plot(layered).figure.data
    assert list(sees.x) == ["order"]
    assert list(sees.y) == [layered.layers[2].readout.residual]
    assert list(ignores.x) == ["embedding", "sums"]
    assert list(rounding.y) == [layer.tolerance / layer.readout.spread for layer in layered.layers]
    plots = (residual_plot(layered), profile_plot(layered), adjacency_plot(layered, caption=""))
    assert all(plot.figure.layout.xaxis.automargin for plot in plots)
    bars = profile_plot(layered).figure.data
    assert np.sum([bar.y for bar in bars], axis=0) == pytest.approx([100, 100, 100], abs=0.2)
    assert bars[0].y[1] == pytest.approx(100)
    scores = adjacency_plot(layered, caption="").figure.data[1]
    assert list(scores.y) == [layer.adjacency.value for layer in layered.layers]


def test_figures_can_be_drawn_as_files(data):
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    for plot in report_of(data).plots:
        assert draw(plot, "png").startswith(b"\x89PNG")


def test_tables(layered):
    rows = layer_table(layered).rows
    assert [row[0] for row in rows] == ["embedding", "sums", "order"]
    assert rows[1][1:4] == ["does not tell apart 1–5", "0", "100.0 %"]
    assert rows[0][1] == "reads 5 only"
    outputs = output_rows(layered)
    assert outputs[0] == ["embedding", "all", "reads its own position only"]
    assert outputs[1:4] == [
        ["sums", "1", "reads 1 only"],
        ["sums", "2", "ignores 3–5, does not tell apart 1, 2"],
        ["sums", "3", "ignores 4, 5, does not tell apart 1–3"],
    ]
    assert subtitle(layered) == "mine:my_model   V=3 L=4, readout last"
    assert "32 sequences" in notes(layered)[0]


def test_a_long_table_is_cut():
    result = result_of(lambda x: [np.cumsum(x, axis=1)[:, :, None] * 1.0] * 5, length=20, profile_samples=0)
    assert len(output_rows(facts(result))) == 60
    assert "The first 60 rows" in report_of(result).tables[1].note


@pytest.mark.parametrize(
    ("function", "settings"),
    [
        (moments, {}),
        (lambda x: x.sum(axis=1), {"profile_samples": 0}),
        (lambda x: {"rare": (x[:, :4] == 0).all(axis=1), "sum": x.sum(axis=1)}, {"length": 5}),
    ],
    ids=["layers", "one output", "a layer without a profile"],
)
def test_a_file_gives_the_same_back(tmp_path, function, settings):
    data = result_of(function, **settings)
    save_tree(data, tmp_path / "probe.nc")
    with xarray.open_datatree(tmp_path / "probe.nc", engine="h5netcdf") as again:
        assert plain(again) == plain(data)
    assert plain(data)["layers"][0].keys() == plain(data)["layers"][-1].keys()


def test_layers_without_a_profile_say_why():
    rare, total = facts(result_of(lambda x: {"rare": (x[:, :4] == 0).all(axis=1), "sum": x.sum(axis=1)}, length=5)).layers
    assert rare.profile is None
    assert "too few for a profile" in rare.profile_note
    assert total.profile is not None
