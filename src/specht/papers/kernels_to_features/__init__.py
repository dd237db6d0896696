"""From kernels to features: what transformers of finite width learn. Results of this project, judged like those of the papers."""

from __future__ import annotations

from specht.papers import load_paper

PAPER = load_paper(__name__)
