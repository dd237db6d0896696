"""Wang, Wei, Hsu & Lee 2024, the paper on sparse token selection, experiment by experiment.

The full text was not at hand: claims come from its abstract, from summaries and from descriptions of its figures. Where settings are not
known, ours are said in the regime of each verdict: tokens of five numbers, random signs as codes, queries dual to the codes of their sets.
"""

from __future__ import annotations

from specht.papers import load_paper

PAPER = load_paper(__name__)
