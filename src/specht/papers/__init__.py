"""The papers that Specht rests on: each a module with its experiments, figures and claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.papers.claims import Scale as Scale, lacking as lacking
    from specht.papers.criteria import (
        Bounds as Bounds,
        Criterion as Criterion,
        Finding as Finding,
        above as above,
        at_least as at_least,
        at_most as at_most,
        below as below,
        between as between,
        both as both,
        every as every,
        exponent as exponent,
        is_true as is_true,
        larger as larger,
        near as near,
        positive as positive,
        prefers as prefers,
    )
    from specht.papers.load import load_paper as load_paper
    from specht.papers.measurement import (
        Grid as Grid,
        Measurement as Measurement,
        NothingToJudge as NothingToJudge,
        fixed as fixed,
        grid as grid,
        measure as measure,
        missing as missing,
        points as points,
        present as present,
        rows as rows,
    )
    from specht.papers.scorecard import (
        SEEDS as SEEDS,
        Judged as Judged,
        Part as Part,
        expected_outcomes as expected_outcomes,
        jobs_of as jobs_of,
        judge as judge,
        paper_sections as paper_sections,
        papers as papers,
        runs_of as runs_of,
        select as select,
    )

__all__, __getattr__, __dir__ = lazy_names(__name__)
