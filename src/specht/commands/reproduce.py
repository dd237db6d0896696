"""specht reproduce: the claims of the papers, tested; ends in a scorecard."""

from __future__ import annotations

import dataclasses
import functools
import json
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from cyclopts import Parameter
from pydantic import Field

from specht.commands.command import (
    OutputFlags,
    Switch,
    figure_writers,
    made_with,
    print_json,
    print_paths,
    print_table,
    progress_bar,
    use_compilation_cache,
)
from specht.commands.workers import WorkFlags
from specht.errors import InputError
from specht.lab import Config

if TYPE_CHECKING:
    from specht.lab import Failure
    from specht.papers import Judged, Part
    from specht.report import JudgedClaim, PaperSection

AS_EXPECTED, NOT_AS_EXPECTED = 0, 1
SHOWN_FAILURES = 5
PUBLISHED = ".published"
"""In a folder of published pages, the list of the files that belong to them."""


class ReproduceConfig(Config):
    """Which claims are tested, and how thoroughly.

    >>> ReproduceConfig(names=("view-from-infinity",), scale="smoke").flags()
    ['view-from-infinity', '--scale', 'smoke']
    """

    positional: ClassVar[str] = "names"
    names: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = ()
    """Papers, experiments or claims; all of them unless given."""
    scale: Literal["smoke", "quick", "full"] = "quick"
    """smoke: does everything run; quick: minutes on two cores; full: the scale of the papers."""
    seed: Annotated[int, Field(ge=0, lt=10_000)] = 0
    """Another number draws all that is random anew. It is the first of `--seeds`."""
    seeds: Annotated[int | None, Field(ge=1, le=100)] = None
    """How many seeds each claim is judged over: 5 at quick, 3 at full and 1 at smoke unless given."""


def seeds_of(config: ReproduceConfig) -> int:
    """How many seeds are run."""
    from specht.papers import SEEDS

    return SEEDS[config.scale] if config.seeds is None else config.seeds


@dataclasses.dataclass(frozen=True)
class Scorecard:
    """The verdicts on all claims that were asked for."""

    config: ReproduceConfig
    judged: list[Judged]
    failures: tuple[Failure, ...]
    record: dict[str, Any]
    """What made it."""

    @functools.cached_property
    def papers(self) -> list[PaperSection]:
        """What pages show, with figures."""
        from specht.papers import paper_sections

        return paper_sections(self.judged)

    @property
    def claims(self) -> list[JudgedClaim]:
        return [claim for part in self.judged for claim in part.claims]

    def as_json(self) -> dict[str, Any]:
        """For machines: nothing in it depends on how, where or when the jobs were done."""
        return {
            "command": "reproduce",
            "config": self.config.identity(),
            "seed": self.config.seed,
            "seeds": seeds_of(self.config),
            "version": self.record["version"],
            "claims": [dataclasses.asdict(claim) for claim in self.claims],
            "unexpected": [claim.id for claim in self.claims if claim.is_unexpected],
            "failures": [{"job": str(failure.job), "error": failure.error} for failure in self.failures],
        }

    def origin(self, *flags: str) -> dict[str, Any]:
        """What pages say about where the numbers come from; `flags` are those beside the configuration."""
        command = shlex.join(["specht", "reproduce", *self.config.flags(), *flags])
        first, count = self.config.seed, seeds_of(self.config)
        seeds = f"seed {first}" if count == 1 else f"seeds {first} to {first + count - 1}"
        return {"scale": self.config.scale, "seeds": seeds, "reproduce": command, "made_with": made_with(self.record)}


def reproduce(
    config: Annotated[ReproduceConfig, Parameter(name="*")] = ReproduceConfig(),  # noqa: B008 -- frozen
    *,
    work: WorkFlags = WorkFlags(),  # noqa: B008 -- frozen
    output: OutputFlags = OutputFlags(),  # noqa: B008 -- frozen
    list_claims: Annotated[Switch, Parameter(name="--list")] = False,
    publish: Path | None = None,
) -> int:
    """Test what the papers claim: each claim, its criterion, what was measured, and whether it holds.

    A run that was stopped in whatever way goes on when the same command is given again.
    Every claim is judged over several seeds: it holds if the whole interval of what was measured keeps its criterion, fails if none of it
    does, and is undecided otherwise.
    The exit code is 0 if every verdict is the one on record, and 1 otherwise. For example:

        specht reproduce --list
        specht reproduce --scale smoke
        specht reproduce
        specht reproduce infinity.f2 --scale full
        specht reproduce --scale full --cluster tcp://node1:8786
        specht reproduce --scale full --workers 100 --slurm partition=cpu
        specht reproduce --publish docs/scorecard

    Parameters
    ----------
    list_claims
        Show the claims and stop.
    publish
        Write the scorecard into this folder as well, as Markdown pages with their figures; pages that were published there before go.
    """
    # Loaded now and not above, so that --help stays quick.
    from specht.papers import select

    parts = select(config.names)
    if list_claims:
        return _list(parts, output.json)
    use_compilation_cache()
    if publish is not None:
        _check_publishing(publish)
    scorecard, paths = _run(config, parts, work, output)
    if publish is not None:
        paths |= {"pages": _publish(publish, scorecard)}
    result = scorecard.as_json()
    if output.json:
        print_json(result | paths)
    else:
        _print(scorecard)
        print_paths(paths)
    return NOT_AS_EXPECTED if result["failures"] or result["unexpected"] else AS_EXPECTED


def _run(config: ReproduceConfig, parts: list[Part], work: WorkFlags, output: OutputFlags) -> tuple[Scorecard, dict[str, str]]:
    """Do the jobs, judge, and write the scorecard and the report; returns where they are, too."""
    from specht.lab import Archive, store, sweep
    from specht.papers import judge, runs_of
    from specht.report import require_matplotlib

    if output.figures:
        require_matplotlib()
    archive = Archive(work.folder(output.out))
    places = work.places(archive.folder)
    request = store.Request.of("reproduce", config)
    with store.results_folder(request, output.out) as folder:
        runs = [runs_of(part, config.scale, config.seed, seeds_of(config)) for part in parts]
        jobs = [job for some in runs for run in some for job in run]
        with store.begun(request, folder), progress_bar("reproduce") as progress:
            failures = sweep(jobs, archive, places, progress=progress).failures
        judged = [judge(part, some, archive, failures, config.scale) for part, some in zip(parts, runs, strict=True)]
        scorecard = Scorecard(config, judged, failures, store.provenance(request))
        _write(scorecard, folder, output)
    return scorecard, {
        "report": str(folder / "report.html"),
        "scorecard": str(folder / "scorecard.json"),
        "data": str(archive.folder),
    }


def _write(scorecard: Scorecard, folder: Path, output: OutputFlags) -> None:
    from specht.lab import store
    from specht.report import scorecard_page

    result = scorecard.as_json()
    plots = [plot for paper in scorecard.papers for section in paper.sections for plot in section.plots]
    files = {
        "scorecard.json": partial(store.save_text, json.dumps(result, indent=1, allow_nan=False) + "\n"),
        "report.html": partial(store.save_text, scorecard_page(scorecard.papers, **scorecard.origin())),
        **figure_writers(plots, output),
    }
    for name, write in files.items():
        write(folder / name)
    store.save_result(result, folder, files)


def _check_publishing(folder: Path) -> None:
    """Complain before anything is computed if pages cannot be written, or would bury what somebody else has put there."""
    from specht.report import require_matplotlib

    require_matplotlib("--publish")
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / PUBLISHED).is_file())):
        raise InputError(f"--publish {folder} holds other things than published pages: name a folder that is empty or not there yet.")


def _publish(folder: Path, scorecard: Scorecard) -> str:
    """Write the pages in place of those that were published there before."""
    from specht.lab import store
    from specht.report import scorecard_files

    files = scorecard_files(scorecard.papers, **scorecard.origin("--publish", str(folder)))
    listed = folder / PUBLISHED
    before = listed.read_text(encoding="utf-8").splitlines() if listed.is_file() else []
    store.save_text("\n".join(sorted({*before, *files})) + "\n", listed)  # first, so that a stop in between leaves nothing unknown
    for name, content in files.items():
        store.save_bytes(content, folder / name)
    for name in set(before) - set(files):
        if (folder / name).resolve().is_relative_to(folder.resolve()):  # the list is a file that anyone may have edited
            (folder / name).unlink(missing_ok=True)
    store.save_text("\n".join(sorted(files)) + "\n", listed)
    return str(folder / "index.md")


def _list(parts: list[Part], as_json: bool) -> int:
    if as_json:
        fields = ("id", "sentence", "citation", "criterion", "untested")
        claims = [{name: getattr(claim, name) for name in fields} | {"paper": part.paper.id} for part in parts for claim in part.claims]
        print_json({"command": "reproduce", "claims": claims})
        return AS_EXPECTED
    for paper in {part.paper.id: part.paper for part in parts}.values():
        print(f"{paper.id}   {paper.title}\n")
        for part in parts:
            if part.paper.id == paper.id and part.claims:
                print(f"  {part.experiment.name}   {part.experiment.title}")
                print(*(f"    {claim.id}\n        {claim.sentence}" for claim in part.claims), sep="\n")
        print()
    return AS_EXPECTED


def _print(scorecard: Scorecard) -> None:
    from specht.report import answer

    rows = [[claim.id, claim.outcome, claim.number, claim.criterion] for claim in scorecard.claims]
    print_table(rows, header=["claim", "verdict", "measured", "criterion"], fit=True)
    print(f"\n{answer(scorecard.claims, scorecard.config.scale)}")
    for claim in [claim for claim in scorecard.claims if claim.is_unexpected and claim.measured is None][:SHOWN_FAILURES]:
        print(f"  {claim.id}: {claim.regime}")
    if scorecard.failures:
        print(f"{len(scorecard.failures)} jobs failed:")
        for failure in scorecard.failures[:SHOWN_FAILURES]:
            print(f"  {failure.job}: {failure.error}")
