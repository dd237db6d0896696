"""Lavie, Gur-Ari & Ringel 2024, the paper on permutation symmetry and the inductive bias of transformers, experiment by experiment.

The full text was not at hand: claims come from the poster, a summary and the abstract, each cited where it is used, and criteria are ours.
Experiments stand in the order of the paper: figures, statements, then those that the summary suggests.
"""

from __future__ import annotations

from specht.papers import load_paper

PAPER = load_paper(__name__)
