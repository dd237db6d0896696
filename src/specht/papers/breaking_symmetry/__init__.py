"""Zuo & Guerzhoy 2024 on what breaks the permutation symmetry of transformers, and its follow-up, experiment by experiment.

Neither full text was at hand: claims come from the abstracts and a summary, each cited where it is used, and criteria are ours. Experiments
go from what holds exactly, over random networks, to trained ones; the last joins the table of stacks to the kernels of the first paper.
"""

from __future__ import annotations

from specht.papers import load_paper

PAPER = load_paper(__name__)
