"""Where the claims of this paper stand, and what its experiments have in common."""

from __future__ import annotations

PACKAGE = "specht.papers.view_from_infinity"
POSTER = "Poster of Lavie, Gur-Ari & Ringel 2024"
SUMMARY = "Summary of Lavie, Gur-Ari & Ringel 2024"
ABSTRACT = "Abstract of Lavie, Gur-Ari & Ringel 2024"
SUGGESTED = "Experiment suggested in the summary of Lavie, Gur-Ari & Ringel 2024"
OURS = "Not in the paper: a limit of it that was found here"
LEVELS = (0, 1, 2)
"""Levels m of the irreps [L-m,m] that are followed."""
