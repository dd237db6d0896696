"""Subjects of their own, each with its task, model, theory and measurements."""
