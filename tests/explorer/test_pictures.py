"""Young diagrams, and the numbers behind figures."""

from __future__ import annotations

import base64
import csv
import io
import xml.etree.ElementTree as ElementTree

import numpy as np
import plotly.graph_objects as go
import pytest

from specht.explorer.diagrams import CANVAS, SHOWN, label_curves, legend, young_image, young_svg
from specht.explorer.layout import COLUMNS, figure_csv
from specht.groups.partition import Partition, partitions


@pytest.mark.parametrize("shape", [shape for n in range(1, 7) for shape in partitions(n)], ids=str)
def test_a_diagram_has_the_boxes_of_its_partition(shape):
    root = ElementTree.fromstring(young_svg(shape))
    boxes = list(root)
    assert root.attrib["aria-label"] == f"Young diagram {shape}"
    rows = [sum(box.attrib["y"] == str(1 + 10 * row) for box in boxes) for row in range(len(shape.parts))]
    longest = max(SHOWN, *shape.parts[1:], 0)
    assert rows == [min(shape.parts[0], longest), *shape.parts[1:]]
    dotted = [box for box in boxes if "stroke-dasharray" in box.attrib]
    assert len(dotted) == (shape.parts[0] > longest)


def test_a_picture_in_a_figure_is_the_diagram():
    address = young_image(Partition((3, 1)), "#123456")
    head, _, content = address.partition(",")
    assert head == "data:image/svg+xml;base64"
    assert base64.b64decode(content).decode() == young_svg(Partition((3, 1)), "#123456", CANVAS)


def test_labels_share_a_canvas_and_stand_in_its_middle():
    one, two = (ElementTree.fromstring(young_svg(shape, canvas=CANVAS)) for shape in (Partition((8,)), Partition((7, 1))))
    assert (one.attrib["width"], one.attrib["height"]) == (two.attrib["width"], two.attrib["height"]) == ("52", "32")
    assert (one.attrib["viewBox"], two.attrib["viewBox"]) == ("0 -10 52 32", "0 -5 52 32")


def test_labels_stand_beside_their_curves_and_not_upon_each_other():
    figure = go.Figure()
    label_curves(figure, [(Partition((7, 1)), "#111111", -2.0), (Partition((8,)), "#222222", 0.0), (Partition((6, 2)), "#333333", -2.01)])
    standard, trivial, second = [image.y for image in figure.layout.images]
    assert (trivial, standard) == (0.0, -2.0)
    assert second == pytest.approx(-2.0 - 2.01 / 9.0)


def test_a_legend_names_every_irrep():
    text = legend([(Partition((64,)), "#111111"), (Partition((63, 1)), "#222222")])
    assert text.count("<svg") == 2
    assert "[63,1] <small>dimension 63</small>" in text


def read(figure: go.Figure) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(figure_csv(figure))))


def test_points_bars_and_errors_are_lines_of_a_table():
    figure = go.Figure()
    figure.add_scatter(x=np.array([1, 2]), y=[0.5, None], name="gap, in a line")
    figure.add_scatter(x=[3], y=[0.25], error_y={"type": "data", "array": [0.125]}, text=["here"], name="points")
    figure.add_bar(x=["a", "b"], y=[1.0, 2.0])
    lines = read(figure)
    assert [(line["series"], line["x"], line["y"]) for line in lines] == [
        ("gap, in a line", "1", "0.5"),
        ("points", "3", "0.25"),
        ("", "a", "1.0"),
        ("", "b", "2.0"),
    ]
    assert (lines[1]["y_error"], lines[1]["text"]) == ("0.125", "here")


def test_images_are_lines_too():
    lines = read(go.Figure(go.Heatmap(z=[[1.0, 2.0], [3.0, 4.0]])))
    assert [(line["x"], line["y"]) for line in lines] == [("0", "0"), ("1", "0"), ("0", "1"), ("1", "1")]
    assert [line["z"] for line in lines] == ["1.0", "2.0", "3.0", "4.0"]
    assert tuple(lines[0]) == COLUMNS
