"""specht reproduce: the claims of the papers, tested; ends in a scorecard."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from pydantic import Field

from specht.commands.cache import use_compilation_cache
from specht.commands.output import OutputFlags, ProgressBar, print_json, print_paths, print_table
from specht.commands.workers import WorkFlags
from specht.errors import InputError
from specht.lab.config import Config

if TYPE_CHECKING:
    from specht.lab.sweep import Sweep
    from specht.papers.registry import Part
    from specht.papers.scorecard import Judged

AS_EXPECTED, NOT_AS_EXPECTED = 0, 1
SHOWN_FAILURES = 5
PUBLISHED = ".published"
"""In a folder of published pages, the list of the files that belong to them."""


class ReproduceFlags(Config):
    """How thoroughly claims are tested."""

    scale: Literal["smoke", "quick", "full"] = "quick"
    """smoke: does everything run; quick: minutes on two cores; full: the scale of the papers."""
    seed: Annotated[int, Field(ge=0, lt=10_000)] = 0
    """Another number draws all that is random anew."""


class ReproduceConfig(ReproduceFlags):
    """Which claims, and how thoroughly.

    >>> ReproduceConfig(names=("view-from-infinity",), scale="smoke").flags()
    ['view-from-infinity', '--scale', 'smoke']
    """

    names: Annotated[tuple[str, ...], Parameter(negative="")] = ()

    def flags(self) -> list[str]:
        return [*self.names, *ReproduceFlags(scale=self.scale, seed=self.seed).flags()]


def reproduce(
    *names: str,
    flags: Annotated[ReproduceFlags, Parameter(name="*")] = ReproduceFlags(),  # noqa: B008 -- frozen
    work: WorkFlags = WorkFlags(),  # noqa: B008 -- frozen
    output: OutputFlags = OutputFlags(),  # noqa: B008 -- frozen
    list_claims: Annotated[bool, Parameter(name="--list", negative="", show_default=False)] = False,
    publish: Path | None = None,
) -> int:
    """Test what the papers claim: each claim, its criterion, what was measured, and whether it holds.

    A run that was stopped in whatever way goes on when the same command is given again.
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
    names
        Papers, experiments or claims; all of them unless given.
    list_claims
        Show the claims and stop.
    publish
        Write the scorecard into this folder as well, as Markdown pages with their figures; pages that were published there before go.
    """
    # Loaded now and not above, so that --help stays quick.
    from specht.papers.registry import select

    parts = select(names)
    if list_claims:
        return _list(parts, output.json)
    use_compilation_cache()
    config = ReproduceConfig(names=names, **flags.model_dump())
    if publish is not None:
        _check_publishing(publish)
    result, judged, paths = _run(config, parts, work, output)
    if publish is not None:
        paths |= {"pages": _publish(publish, judged, config)}
    if output.json:
        print_json(result | paths)
    else:
        _print(result)
        print_paths(paths)
    return NOT_AS_EXPECTED if result["failures"] or result["unexpected"] else AS_EXPECTED


def _run(
    config: ReproduceConfig, parts: list[Part], work: WorkFlags, output: OutputFlags
) -> tuple[dict[str, Any], list[Judged], dict[str, str]]:
    """Do the jobs, judge, and write the scorecard and the report."""
    from specht.lab import store
    from specht.lab.archive import Archive
    from specht.lab.sweep import sweep
    from specht.papers.scorecard import as_json, expected_outcomes, jobs_of, judge
    from specht.report.static import require_matplotlib

    if output.figures:
        require_matplotlib()
    archive = Archive(work.folder(output.out))
    places = work.places(archive.folder)
    request = store.Request.of("reproduce", config)
    with store.results_folder(request, output.out) as folder:
        jobs = {part.experiment.name: jobs_of(part, config.scale, config.seed) for part in parts}
        with store.begun(request, folder), ProgressBar("reproduce") as progress:
            done = sweep([job for each in jobs.values() for job in each], archive, places, progress=progress)
        expected = expected_outcomes(config.scale)
        judged = [judge(part, jobs[part.experiment.name], archive, done.failures, expected) for part in parts]
        claims = as_json(judged)
        record = store.provenance(request)
        result = _result(config, claims, done, record["version"])
        paths = _write(folder, result, judged, config, record, output)
    return result, judged, paths | {"data": str(archive.folder)}


def _result(config: ReproduceConfig, claims: list[dict[str, Any]], done: Sweep, version: str) -> dict[str, Any]:
    """What the scorecard says: nothing in it depends on how, where or when the jobs were done."""
    from specht.report.scorecard import is_unexpected

    return {
        "command": "reproduce",
        "config": config.identity(),
        "seed": config.seed,
        "version": version,
        "claims": claims,
        "unexpected": [claim["id"] for claim in claims if is_unexpected(claim)],
        "failures": [{"job": str(failure.job), "error": failure.error} for failure in done.failures],
    }


def _write(
    folder: Path, result: dict[str, Any], judged: list[Judged], config: ReproduceConfig, record: dict[str, Any], output: OutputFlags
) -> dict[str, str]:
    import json

    from specht.commands.command import figure_writers, made_with
    from specht.lab import store
    from specht.papers.page import paper_sections
    from specht.report.scorecard import scorecard_page

    command = shlex.join(["specht", "reproduce", *config.flags()])
    papers = paper_sections(judged)
    page = scorecard_page(papers, scale=config.scale, seed=config.seed, reproduce=command, made_with=made_with(record))
    plots = [plot for paper in papers for section in paper.sections for plot in section.plots]
    files = {
        "scorecard.json": partial(store.save_text, json.dumps(result, indent=1, allow_nan=False) + "\n"),
        "report.html": partial(store.save_text, page),
        **figure_writers(plots, output),
    }
    for name, write in files.items():
        write(folder / name)
    store.save_result(result, folder, files)
    return {"report": str(folder / "report.html"), "scorecard": str(folder / "scorecard.json")}


def _check_publishing(folder: Path) -> None:
    """Complain before anything is computed if pages cannot be written, or would bury what somebody else has put there."""
    from specht.report.static import require_matplotlib

    require_matplotlib("--publish")
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / PUBLISHED).is_file())):
        raise InputError(f"--publish {folder} holds other things than published pages: name a folder that is empty or not there yet.")


def _publish(folder: Path, judged: list[Judged], config: ReproduceConfig) -> str:
    """Write the pages in place of those that were published there before."""
    from specht.commands.command import made_with
    from specht.lab import store
    from specht.papers.page import paper_sections
    from specht.report.publish import scorecard_files

    command = shlex.join(["specht", "reproduce", *config.flags(), "--publish", str(folder)])
    record = made_with(store.provenance(store.Request.of("reproduce", config)))
    files = scorecard_files(paper_sections(judged), scale=config.scale, seed=config.seed, reproduce=command, made_with=record)
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
    every = [(part, claim) for part in parts for claim in part.claims]
    if as_json:
        fields = ("id", "sentence", "citation", "criterion", "untested")
        claims = [{name: getattr(claim, name) for name in fields} | {"paper": part.paper.id} for part, claim in every]
        print_json({"command": "reproduce", "claims": claims})
        return AS_EXPECTED
    for paper in dict.fromkeys(part.paper.id for part in parts):
        mine = [(part, claim) for part, claim in every if part.paper.id == paper]
        print(f"{paper}   {mine[0][0].paper.title}\n")
        for part in dict.fromkeys(part.experiment.name for part, _ in mine):
            rows = [[claim.id, claim.sentence] for each, claim in mine if each.experiment.name == part]
            title = next(each.experiment.title for each, _ in mine if each.experiment.name == part)
            print(f"  {part}   {title}")
            for name, sentence in rows:
                print(f"    {name}\n        {sentence}")
        print()
    return AS_EXPECTED


def _print(result: dict[str, Any]) -> None:
    from specht.report.scorecard import answer, is_unexpected, measured, on_record

    rows = []
    for claim in result["claims"]:
        verdict = claim["verdict"] + (f" ({on_record(claim)})" if is_unexpected(claim) else "")
        rows.append([claim["id"], verdict, measured(claim), claim["criterion"]])
    print_table(rows, header=["claim", "verdict", "measured", "criterion"], fit=True)
    print(f"\n{answer(result['claims'], result['config']['scale'])}")
    failures = result["failures"]
    if failures:
        print(f"{len(failures)} jobs failed:")
        for failure in failures[:SHOWN_FAILURES]:
            print(f"  {failure['job']}: {failure['error']}")
