"""The symmetry of corpora as jobs: a census of the types, statistics of batches of files, and what they say together.

A corpus of one batch is measured by one job, which returns what it found. Statistics of the batches of a larger one come back as they are,
and are added up here; both ways give the same numbers.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import itertools
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from specht.commands.symmetry import SymmetryConfig
from specht.commands.workers import WorkFlags, removed_if_bad
from specht.corpus import (
    Census,
    Statistics,
    Survey,
    SurveySettings,
    count_all,
    describe,
    findings,
    merge_censuses,
    merge_statistics,
    null_score,
    nulls_of,
    plan_survey,
    scores,
    take_census,
)
from specht.corpus.read import Corpus, FilePart, TypeCounts, fingerprint, train_bpe
from specht.corpus.stats import Null
from specht.errors import InputError
from specht.lab import Archive, Job, Places, save_text, sweep, this_process
from specht.progress import Progress
from specht.trees import tree

_MODULE = "specht.commands.symmetry.compute"
BPE_TYPES = 4096
"""Types of a byte pair encoding that is trained on a corpus."""
_TOKENIZERS = "tokenizer-*.json"
"""Files of trained encodings beside the results, one a corpus."""
_SMALL = 4_000_000
"""Bytes of text that are not worth the start of other processes."""
_CENSUS_BYTES = 2**23
"""Bytes of files that a census job counts."""


def compute_in(folder: Path, jobs: Path, config: SymmetryConfig, work: WorkFlags, progress: Progress | None) -> xarray.DataTree:
    """The scores of corpora. Trained tokenizers are kept in one folder, what has been counted in the other."""

    def made() -> set[Path]:
        return {*folder.glob(_TOKENIZERS), *([jobs] if work.store is None and jobs.exists() else [])}

    with removed_if_bad(made):
        tokenizers = (folder / _TOKENIZERS.replace("*", str(number)) for number in itertools.count(1))
        pairs = zip(config.prepared, tokenizers, strict=False)
        corpora = [prepared.with_tokenizer(path) if prepared.trains_tokenizer else prepared for prepared, path in pairs]
        # Little text is counted in this process, unless somebody asks for another.
        places = this_process if not work.is_asked and sum(corpus.bytes for corpus in corpora) < _SMALL else work.places(jobs)
        entries = run_symmetry(corpora, config.settings(), config.nulls, Archive(jobs), places, progress)
    return symmetry_tree(config, sorted(entries, key=lambda entry: (entry["defined"], entry["score"] or 0.0), reverse=True))


def symmetry_tree(config: SymmetryConfig, corpora: Sequence[Mapping[str, Any]]) -> xarray.DataTree:
    """What was found of corpora, with all scores in one table too: a row for each corpus, window length and null model."""
    fields = ("length", "score", "low", "high", "distance", "direction", "rms", "defined", "plug_in")
    lines = []
    for corpus in corpora:
        of_corpus = {"corpus": corpus["name"], "tokens": corpus["tokens"], "vocab": corpus["vocab"]}
        of_all = [*(("", score) for score in corpus["lengths"]), *corpus["nulls"].items()]
        lines += [of_corpus | {field: score[field] for field in fields} | {"null": null} for null, score in of_all]
    return tree({"length": config.length, "metric": config.metric, "blocks": config.blocks, "corpora": corpora, "scores": lines})


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A corpus and the digest of its files, which makes results of other content other results."""

    corpus: Corpus
    content: str
    trains_tokenizer: bool = False

    @classmethod
    def of(cls, corpus: Corpus, trains_tokenizer: bool = False) -> Prepared:
        """A corpus with the digest of its files and of its tokenizer."""
        paths = [] if corpus.reading.tokenizer is None else [FilePart(corpus.reading.tokenizer)]
        try:
            content = [corpus.fingerprint(), *(fingerprint([path]) for path in paths)]
        except OSError as error:
            raise InputError(f"{error.filename} cannot be read ({error.strerror}): check its path.") from None
        return cls(corpus, hashlib.sha256(" ".join(content).encode()).hexdigest(), trains_tokenizer)

    def with_tokenizer(self, path: Path) -> Prepared:
        """The corpus read with a byte pair encoding that is trained on it and written to a path."""
        parts = range(len(self.corpus.parts))
        texts = (" ".join(chunk.tokens) for part in parts for chunk in self.corpus.read(part))
        save_text(train_bpe(texts, BPE_TYPES), path)
        reading = dataclasses.replace(self.corpus.reading, tokens="bpe", tokenizer=str(path.resolve()))
        return Prepared.of(dataclasses.replace(self.corpus, reading=reading))

    @property
    def bytes(self) -> int:
        return sum(_size(part) for part in self.corpus.parts)

    def census_jobs(self) -> list[Job]:
        """Jobs that count types, each those of consecutive parts of some megabytes together."""
        groups: list[list[Any]] = [[]]
        held = 0
        for part in self.corpus.parts:
            if held >= _CENSUS_BYTES:
                groups.append([])
                held = 0
            groups[-1].append(part)
            held += _size(part)
        corpora = (dataclasses.replace(self.corpus, parts=tuple(group)) for group in groups)
        return [Job.of(f"{_MODULE}:census", corpus=corpus.as_json(), content=self.content) for corpus in corpora]

    def count_jobs(self, survey: Survey, null: Null | None) -> list[Job]:
        """Jobs that count pairs: one of the whole corpus if it is one batch, otherwise one of each batch."""
        fields = {"survey": survey.as_json(), "content": self.content, "null": null}
        if len(survey.batches) == 1 or survey.how == "exact":
            return [Job.of(f"{_MODULE}:whole", **fields)]
        return [Job.of(f"{_MODULE}:batch", number=number, **fields) for number in range(len(survey.batches))]


def _size(part: Any) -> int:
    return (part.stop or os.path.getsize(part.path)) - part.start


def census(corpus: dict[str, Any], content: str) -> xarray.Dataset:
    """The types of a corpus, or of some parts of one."""
    opened = Corpus.from_json(corpus)
    types = take_census(opened, range(len(opened.parts)))
    return _packed({"sizes": np.array(types.sizes, dtype=np.int64), **types.counts.arrays()})


def whole(survey: dict[str, Any], content: str, null: Null | None) -> xarray.Dataset:
    """What a corpus is like, or its score under a null model."""
    plan = Survey.from_json(survey)
    entry = describe(plan, findings(count_all(plan))) if null is None else null_score(plan, null).summary()
    return xarray.Dataset({"entry": json.dumps(entry, allow_nan=False)})


def batch(survey: dict[str, Any], content: str, null: Null | None, number: int) -> xarray.Dataset:
    """The statistics of one batch of the parts of a corpus."""
    plan = Survey.from_json(survey)
    statistics = Statistics(plan, null)
    statistics.count(plan.batches[number])
    return _packed(statistics.arrays())


def _packed(arrays: Mapping[str, np.ndarray]) -> xarray.Dataset:
    """Arrays as bytes, since the files of an archive do not hold all types of numbers."""
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    return xarray.Dataset({"content": ("byte", np.frombuffer(content.getvalue(), dtype=np.int8))})


def run_symmetry(
    corpora: Sequence[Prepared],
    settings: SurveySettings,
    nulls: bool,
    archive: Archive,
    places: Places,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """What each corpus is like, in the order in which they are given."""
    jobs = [prepared.census_jobs() for prepared in corpora]
    sweep([job for of_corpus in jobs for job in of_corpus], archive, places, progress=progress).raise_failure()
    surveys = [plan_survey(prepared.corpus, settings, _census(own, archive)) for prepared, own in zip(corpora, jobs, strict=True)]
    models: list[list[Null | None]] = [[None, *(nulls_of(prepared.corpus) if nulls else ())] for prepared in corpora]
    counts: list[dict[Null | None, list[Job]]] = [
        {null: prepared.count_jobs(survey, null) for null in own} for prepared, survey, own in zip(corpora, surveys, models, strict=True)
    ]
    sweep(
        [job for of_corpus in counts for of_null in of_corpus.values() for job in of_null], archive, places, progress=progress
    ).raise_failure()
    return [_entry(survey, jobs, archive) for survey, jobs in zip(surveys, counts, strict=True)]


def _census(jobs: list[Job], archive: Archive) -> Census:
    def load(job: Job) -> Census:
        arrays = _arrays(archive, job)
        return Census(TypeCounts.from_arrays(arrays), tuple(arrays["sizes"].tolist()))

    return merge_censuses(map(load, jobs))


def _entry(survey: Survey, jobs: Mapping[Null | None, list[Job]], archive: Archive) -> dict[str, Any]:
    entries: dict[Null | None, dict[str, Any]] = {}
    for null, of_null in jobs.items():
        if of_null[0].function == f"{_MODULE}:whole":
            entries[null] = json.loads(_load(archive, of_null[0])["entry"].item())
        else:
            # One batch after another: all at once would take as much memory as the corpus has blocks, times the batches.
            statistics = merge_statistics(Statistics.from_arrays(_arrays(archive, job), survey, null) for job in of_null)
            entries[null] = describe(survey, findings(statistics)) if null is None else scores(statistics).main.summary()
    return entries.pop(None) | {"nulls": entries}


def _arrays(archive: Archive, job: Job) -> dict[str, np.ndarray]:
    """What `_packed` was given."""
    content = _load(archive, job)["content"].values.astype(np.int8).tobytes()
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return dict(arrays)


def _load(archive: Archive, job: Job) -> xarray.Dataset:
    dataset = archive.load(job)
    if dataset is None:
        raise RuntimeError(f"the result of {job.digest} is gone from {archive.folder}: run the same command again")
    return dataset
