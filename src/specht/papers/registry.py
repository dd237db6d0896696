"""Which papers there are, and which of their claims are meant by a list of names. Adding a paper is adding a module with a `PAPER`."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Sequence

import specht.papers
from specht.errors import InputError, unknown_choice
from specht.papers.claims import Claim, Experiment, Paper


@dataclasses.dataclass(frozen=True)
class Part:
    """An experiment, and those of its claims that are asked for."""

    paper: Paper
    experiment: Experiment
    claims: tuple[Claim, ...]


def papers() -> list[Paper]:
    """Every paper, in the order of their modules."""
    modules = [importlib.import_module(f"specht.papers.{found.name}") for found in pkgutil.iter_modules(specht.papers.__path__)]
    return [module.PAPER for module in modules if hasattr(module, "PAPER")]


def select(names: Sequence[str] = (), among: Sequence[Paper] | None = None) -> list[Part]:
    """The experiments with the claims that are named, by paper, by experiment or one by one; all without a name."""
    known = papers() if among is None else among
    parts = [Part(paper, experiment, tuple(experiment.claims)) for paper in known for experiment in paper.experiments]
    if not names:
        return parts
    choices = {name for part in parts for name in (part.paper.id, part.experiment.name, *(claim.id for claim in part.claims))}
    for name in names:
        if name not in choices:
            error = unknown_choice("paper or claim", name, sorted(choices))
            raise InputError(f"{str(error).split(' Choose from')[0]} `specht reproduce --list` shows them all.")
    wanted = set(names)
    chosen = []
    for part in parts:
        whole = part.paper.id in wanted or part.experiment.name in wanted
        claims = tuple(claim for claim in part.claims if whole or claim.id in wanted)
        if claims:
            chosen.append(dataclasses.replace(part, claims=claims))
    return chosen
