"""Lavie, Gur-Ari & Ringel 2024, the paper on permutation symmetry and the inductive bias of transformers, experiment by experiment.

The full text was not at hand: claims come from the poster, a summary and the abstract, each cited where it is used, and criteria are ours.
Experiments stand in the order of the paper: figures, statements, then those that the summary suggests.
"""

from __future__ import annotations

import dataclasses

from specht.papers.load import load_paper
from specht.papers.view_from_infinity import (
    corpora,
    text,
    third_order,
)

_LOADED = load_paper(__name__)
_BY_NAME = {experiment.name: experiment for experiment in _LOADED.experiments}
PAPER = dataclasses.replace(
    _LOADED,
    experiments=(
        _BY_NAME["infinity.f0"],
        _BY_NAME["infinity.f1"],
        _BY_NAME["infinity.f2"],
        text.FIGURE,
        _BY_NAME["infinity.q1"],
        _BY_NAME["infinity.q2"],
        _BY_NAME["infinity.q3"],
        _BY_NAME["infinity.q3-nonlinear"],
        _BY_NAME["infinity.q4"],
        _BY_NAME["infinity.q5"],
        _BY_NAME["infinity.q6"],
        text.SYMMETRY,
        _BY_NAME["infinity.e2"],
        _BY_NAME["infinity.e3"],
        _BY_NAME["infinity.e4-heads"],
        _BY_NAME["infinity.e4"],
        corpora.EXPERIMENT,
        _BY_NAME["infinity.e6"],
        third_order.EXPERIMENT,
        _BY_NAME["infinity.e8"],
        _BY_NAME["infinity.e9"],
        _BY_NAME["infinity.e10"],
    ),
)
