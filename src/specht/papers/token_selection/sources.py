"""What the experiments of this paper have in common."""

from __future__ import annotations

SUPPORT, DIMENSION = 3, 5
"""Chosen positions q, which are those of the paper, and numbers in a token d, which it does not give."""
ENOUGH = 0.02
"""Loss, as a share of that of the predictor zero, from which on a task counts as learnt."""
