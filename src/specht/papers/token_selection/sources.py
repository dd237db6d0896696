"""Where the claims of this paper stand, and what its experiments have in common."""

from __future__ import annotations

PACKAGE = "specht.papers.token_selection"
PAPER = "Wang, Wei, Hsu & Lee 2024"
FIGURES = f"{PAPER}, experiments, as described in summaries"
OURS = "Not in the paper: found here"
SUPPORT, DIMENSION = 3, 5
"""Chosen positions q, which are those of the paper, and numbers in a token d, which it does not give."""
ENOUGH = 0.02
"""Loss, as a share of that of the predictor zero, from which on a task counts as learnt."""
