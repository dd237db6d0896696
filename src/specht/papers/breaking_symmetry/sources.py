"""Where the claims of this paper stand."""

from __future__ import annotations

PACKAGE = "specht.papers.breaking_symmetry"
ABSTRACT = "Abstract of Zuo & Guerzhoy 2024, arXiv:2402.05969"
FOLLOW_UP = "Abstract of Zuo, Guerzhoy & Guerzhoy, COLING 2025, arXiv:2501.00073"
SUMMARY = "Summary of Zuo & Guerzhoy 2024"
CLOSED_FORM = (
    "Not in the paper: a closed form for uniform attention, derived here; Kim et al., Behind RoPE, have it for a layer without weights"
)
OURS = "Not in the paper: a limit of it that was found here"
