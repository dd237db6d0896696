"""The papers that Specht rests on: each a module with its experiments, figures and claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.papers.page import paper_sections as paper_sections
    from specht.papers.registry import Part as Part, select as select
    from specht.papers.scorecard import Judged as Judged, expected_outcomes as expected_outcomes, jobs_of as jobs_of, judge as judge

__all__, __getattr__, __dir__ = lazy_names(__name__)
