"""Statistics of windows of tokens: moments, scores, null models, harmonics."""
