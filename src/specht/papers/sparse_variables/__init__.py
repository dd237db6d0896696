"""Edelman, Goel, Kakade & Zhang 2022, the paper on sparse variables in self-attention, experiment by experiment.

Criteria are ours where the paper has none.
"""

from __future__ import annotations

from specht.papers import load_paper

PAPER = load_paper(__name__)
