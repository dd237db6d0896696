"""How tests try the judges of claims: with results for which a claim holds, and with results that have one fault."""

from __future__ import annotations

import math

from specht.papers import papers
from specht.papers.claims import Results, Verdict

CLAIMS = {claim.id: claim for paper in papers() for claim in paper.claims}


def assert_says_yes_and_no(name: str, good: Results, bad: Results) -> Verdict:
    """Check both verdicts on a claim, and give back the good one."""
    judge = CLAIMS[name].judge
    assert judge is not None
    verdicts = judge(good), judge(bad)
    assert [verdict.outcome for verdict in verdicts] == ["holds", "fails"], verdicts
    for verdict in verdicts:
        assert verdict.measured is not None
        assert math.isfinite(verdict.measured)
        assert verdict.regime.endswith(".")
        assert not verdict.missing
    return verdicts[0]
