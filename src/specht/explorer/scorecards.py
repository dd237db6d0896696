"""The page *Papers*: the scorecards that `specht reproduce` left in the folder of results, with the figures of one experiment at a time."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specht.errors import InputError
from specht.papers import SEEDS, Part, judge, paper_sections, runs_of, select
from specht.report import JudgedClaim, Section

RESULTS = Path("specht-results")
"""Where commands of the folder that the explorer was started in put their results."""
SCORECARD, JOBS = "scorecard.json", "jobs"
EMPTY = "There is no scorecard yet. This command makes one in some minutes; it appears here when the page is loaded again:"
COMMAND = "specht reproduce"


@dataclasses.dataclass(frozen=True)
class Saved:
    """A scorecard that was found."""

    name: str
    path: Path
    content: Mapping[str, Any]

    @property
    def label(self) -> str:
        """What the list calls it.

        >>> Saved("reproduce-0", Path(), {"config": {"scale": "quick", "names": ["infinity"], "seed": 0}, "claims": []}).label
        'quick, infinity (reproduce-0)'
        """
        config = self.content["config"]
        return f"{config['scale']}, {', '.join(config.get('names') or ['all papers'])} ({self.name})"

    @property
    def claims(self) -> list[JudgedClaim]:
        """Its claims; what an earlier version did not write is None."""
        return [JudgedClaim.of(**claim) for claim in self.content["claims"]]


def saved_scorecards(folder: Path = RESULTS) -> list[Saved]:
    """All scorecards of a folder, the newest first; a file that is no scorecard is passed over."""
    paths = sorted(folder.glob(f"*/{SCORECARD}"), key=lambda path: path.stat().st_mtime, reverse=True)
    return [Saved(path.parent.name, path, content) for path in paths if (content := _read(path)) is not None]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return content if content["claims"] and content["config"]["scale"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def experiment_names() -> list[str]:
    """All experiments of all papers."""
    return [part.experiment.name for part in select()]


def experiments(saved: Saved) -> dict[str, str]:
    """The experiments of a scorecard that this version knows, with their titles."""
    return {part.experiment.name: part.experiment.title for part in _parts(saved)}


def _parts(saved: Saved) -> list[Part]:
    """The experiments that claims of a scorecard belong to."""
    claims = {claim.id for claim in saved.claims}
    return [part for part in select() if any(claim.id in claims for claim in part.claims)]


def experiment_section(saved: Saved, experiment: str) -> Section:
    """One experiment with its figures, drawn from the results of its jobs."""
    from specht.lab import Archive

    part = next((part for part in _parts(saved) if part.experiment.name == experiment), None)
    if part is None:
        raise InputError(f"This scorecard has no experiment {experiment[:60]!r}: choose one of the list.")
    config = saved.content["config"]
    runs = runs_of(part, config["scale"], config.get("seed", 0), config.get("seeds") or SEEDS[config["scale"]])
    jobs = [job for run in runs for job in run]
    folders = [saved.path.parent / JOBS, saved.path.parent.parent / JOBS]
    archive = next((archive for folder in folders if (archive := Archive(folder)).folder.is_dir() and all(map(archive.holds, jobs))), None)
    if archive is None:
        raise InputError(
            f"The results that the figures of {experiment} are drawn from are not here, or are those of another version: "
            f"give the command `{COMMAND} {experiment} --scale {config['scale']}` again."
        )
    judged = judge(part, runs, archive, (), config["scale"])
    [paper] = paper_sections([judged])
    return paper.sections[0]
