"""The papers that Specht rests on: each a module with its experiments, figures and claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.papers.scorecard import (
        Judged as Judged,
        Part as Part,
        expected_outcomes as expected_outcomes,
        jobs_of as jobs_of,
        judge as judge,
        paper_sections as paper_sections,
        papers as papers,
        select as select,
    )

__all__, __getattr__, __dir__ = lazy_names(__name__)
