"""The claims on text: judges on made-up numbers, what they say where data are missing, and jobs on the corpus that every machine has."""

from __future__ import annotations

import json

import numpy as np
import pytest
from judging import assert_says_yes_and_no
from made_text import blocks, figure, lost, score, symmetry, third

from specht.corpus.read.named import NAMED
from specht.corpus.stats.shuffles import NULLS
from specht.errors import InputError
from specht.lab.archive import Archive, encode
from specht.lab.jobs import Job
from specht.papers import judge as judge_part, select
from specht.papers.view_from_infinity import PAPER, text, text_blocks, texts, third_order
from specht.report.scorecard import answer

EXPERIMENTS = [each for each in PAPER.experiments if each.name in ("infinity.f3", "infinity.q8", "infinity.e5", "infinity.e7")]
CLAIMS = {claim.id.removeprefix("infinity."): claim for experiment in EXPERIMENTS for claim in experiment.claims}
NEEDS_TEXT = [name for name in CLAIMS if name not in ("e5-corpora", "f3-order")]


def without_texts():
    """Results on a machine that only has the corpus that every machine has."""
    return [
        lost("wikitext-2", blocks()),
        blocks("stdlib"),
        *(lost(name, score(name, 0.1)) for name in ("wikitext-2", "wikitext-2-body")),
        score("stdlib", 0.5),
        *(lost("wikitext-2-body", each) for each in third()),
    ]


def of(experiment, results):
    """Those results that an experiment asks for."""
    asked = {(job.function, job.arguments["corpus"]) for job in experiment.jobs("full")}
    return [result for result in results if (result.function, result.arguments["corpus"]) in asked]


CASES = {
    "f3-similarity": (figure(), figure(centred=(0.96, 0.89))),
    "f3-eigenvalues": (figure(), figure(ks=(0.15, 0.14))),
    "f3-subspaces": (figure(), figure(pca=(0.7, 0.71))),
    "f3-iid": (figure(), figure(iid=(0.999, 0.95))),
    "f3-off-site": (figure(ratio=1.02), figure()),
    "f3-order": (figure(cosines=(0.98, 0.9)), figure()),
    "q8-wikitext": (symmetry(), symmetry(share=(-0.02, -0.03, -0.01))),
    "e5-corpora": ([score("stdlib", 0.5), score("kalevala", 0.03, 0.02)], [score("stdlib", 0.5), score("kalevala", -0.03)]),
    "e7-third-order": (third(), third(values=(-0.05, -0.09, -0.01))),
    "e7-less": (third(), third(second=(0.06, 0.045, 0.07))),
}
"""For every claim, results with which it must hold and results with which it must fail."""


def test_every_claim_on_text_is_tried():
    assert set(CASES) == set(CLAIMS)


@pytest.mark.parametrize("name", CASES)
def test_judges_can_say_yes_and_no(name):
    assert_says_yes_and_no(CLAIMS[name].id, *CASES[name])


@pytest.mark.parametrize(
    ("name", "results"),
    [
        ("f3-similarity", figure(centred=(0.94, 0.8))),  # apart from k = 0, but not alike
        ("q8-wikitext", symmetry(centred=(0.96, 0.89))),
        ("q8-wikitext", symmetry(ks=(0.2, 0.1))),
        ("e7-third-order", third(shuffled=1.2)),  # the control is off by more than its error
    ],
)
def test_every_part_of_a_criterion_counts(name, results):
    assert CLAIMS[name].judge(results).outcome == "fails"


@pytest.mark.parametrize(("name", "number"), [("f3-order", 3), ("e5-corpora", 1), ("e7-less", 1)])
def test_figures_with_names_along_an_axis_are_drawn(name, number):
    (experiment,) = (one for one in EXPERIMENTS if CLAIMS[name] in one.claims)
    assert len(experiment.plots(CASES[name][0])) == number


@pytest.mark.parametrize(
    ("name", "results"),
    [
        ("q8-wikitext", symmetry(defined=0.0)),
        ("e5-corpora", [score("stdlib", 0.5, defined=0.0)]),
        ("e7-third-order", third(defined=0.0)),
        ("e7-less", third(defined=0.0)),
    ],
)
def test_without_correlations_there_is_nothing_to_judge(name, results):
    verdict = CLAIMS[name].judge(results)
    assert (verdict.outcome, verdict.missing) == ("not tested", False)


def test_the_smallest_score_is_shown_with_its_error():
    verdict = CLAIMS["e5-corpora"].judge([score("stdlib", 0.5), score("kalevala", 0.03, 0.02, 0.06), lost("alice", score("alice", 0.1))])
    assert (verdict.measured, verdict.stderr) == (0.03, pytest.approx(0.01))
    assert "kalevala" in verdict.regime
    assert "Not on this machine: alice." in verdict.regime


class TestMissingData:
    @pytest.mark.parametrize("name", NEEDS_TEXT)
    def test_claims_on_wikitext_are_not_tested(self, name):
        (experiment,) = (each for each in EXPERIMENTS if CLAIMS[name] in each.claims)
        verdict = CLAIMS[name].judge(of(experiment, without_texts()))
        assert verdict.outcome == "not tested"
        assert verdict.missing
        assert verdict.regime.startswith("wikitext-2")

    def test_order_needs_two_corpora(self):
        code, bases = blocks("stdlib", centred=(0.84, 0.7)), blocks("ecoli-genome", centred=(0.97, 0.7))
        found = [lost("wikitext-2", blocks()), lost("wikitext-2", score("wikitext-2", 0.1)), code, score("stdlib", 0.48)]
        assert CLAIMS["f3-order"].judge([*found, *(lost("ecoli-genome", like) for like in (bases, score("ecoli-genome", 0.08)))]).missing
        verdict = CLAIMS["f3-order"].judge([*found, bases, score("ecoli-genome", 0.08)])
        assert (verdict.outcome, verdict.measured) == ("fails", -1.0)
        assert "Not on this machine: wikitext-2." in verdict.regime

    @pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda each: each.name)
    def test_pages_say_what_to_do(self, experiment):
        results = of(experiment, without_texts())
        assert all(plot.caption for plot in experiment.plots(results))
        needed = "wikitext-2" if experiment.name == "infinity.f3" else "wikitext-2-body"
        assert any(f"{needed} is not here." in row for table in experiment.tables(results) for row in table.rows)

    def test_a_job_without_its_corpus_says_where_it_comes_from(self, monkeypatch):
        monkeypatch.delenv("SPECHT_DATA", raising=False)
        monkeypatch.setattr("specht.corpus.read.named._library", lambda: None)
        for experiment in EXPERIMENTS:
            for job in experiment.jobs("full"):
                if job.arguments["corpus"] != "stdlib":
                    assert job.arguments["content"] is None
        found = text.measure_figure.jobs("smoke")[0].run()
        assert not found.data_vars
        reason = found["reason"].item()
        assert "specht symmetry wikitext-2 --download" in reason
        assert "SPECHT_DATA" in reason
        assert "--download" not in texts.missing("kalevala")["reason"].item()  # nobody offers this file

    def test_a_damaged_file_is_missing_and_said_to_be_damaged(self, monkeypatch, tmp_path):
        (tmp_path / "wikitext2").mkdir()
        (tmp_path / "wikitext2" / "train.txt").write_text("not the text")
        monkeypatch.setenv("SPECHT_DATA", str(tmp_path))
        assert texts.content_of("wikitext-2") is None
        assert "is not the corpus" in texts.missing("wikitext-2")["reason"].item()

    def test_other_content_than_that_of_the_job_is_refused(self):
        with pytest.raises(InputError, match="another content"):
            texts.opened("stdlib", "0" * 64)

    def test_verdicts_without_data_are_not_unexpected(self, tmp_path):
        part = next(part for part in select(["infinity.q8"], among=[PAPER]))
        archive, results = Archive(tmp_path), of(part.experiment, without_texts())
        jobs = [Job.of(result.function, **result.arguments) for result in results]
        for job, result in zip(jobs, results, strict=True):
            archive.save(job, encode(result.data), 0.0)
        judged = judge_part(part, [jobs], archive, [], "quick")
        [claim] = judged.claims
        assert (claim.paper, claim.verdict, claim.expected, claim.missing) == ("infinity", "not tested", None, True)
        assert not claim.is_unexpected
        assert "quick" in part.experiment.claims[0].record  # which is not held against a machine without the text
        assert "For 1 this machine lacks the data. wikitext-2 is not here." in answer([claim], "quick")


class TestJobs:
    @pytest.mark.parametrize("scale", ["smoke", "quick", "full"])
    def test_arguments_name_the_content(self, scale):
        for experiment in EXPERIMENTS:
            for job in experiment.jobs(scale):
                given = json.loads(job.text)
                name, content = given["corpus"], given["content"]
                assert content in ({None, NAMED[name].sha256} if name != "stdlib" else {texts.content_of("stdlib")})

    def test_full_scale_scores_every_corpus(self):
        assert [job.arguments["corpus"] for job in texts.measure_corpora.jobs("full")] == list(NAMED)

    def test_blocks_of_code_are_the_same_again(self):
        given = {"corpus": "stdlib", "content": texts.content_of("stdlib"), "vocab": 12, "length": 8, "size": 200_000}
        found = text_blocks.measure_blocks(**given)
        assert found.identical(text_blocks.measure_blocks(**given))
        assert found["cosine"].shape == (3, 5, 5)
        np.testing.assert_allclose(found["eigenvalue"].sum("index"), 1.0)
        np.testing.assert_allclose(np.diagonal(found["overlap"]), 1.0)
        assert set(NULLS) == {null for null in NULLS if not found.identical(text_blocks.measure_blocks(**given, null=null))}

    def test_blocks_are_those_of_the_corpus_room(self):
        """Cosines, distances and overlaps by the room's own functions, where `<unk>` makes no difference."""
        from specht.corpus.stats.harmonics import measure_harmonics
        from specht.corpus.stats.moments import LagCounts

        given = {"vocab": 12, "length": 8}
        content = texts.content_of("stdlib")
        found = text_blocks.measure_blocks("stdlib", content, size=200_000, **given)
        survey = text_blocks._survey(texts.opened("stdlib", content, 200_000), unknown=False, seed=0, **given)
        counts = LagCounts(8, 13)
        for segment in survey.segments(range(len(survey.sizes))):
            counts.update(segment)
        whole = measure_harmonics(counts.tables, counts.pairs, counts.probabilities, eigenvalues=True, components=10)
        np.testing.assert_allclose(found["cosine"].sel(kind="centred"), whole.cosines.matrix, rtol=1e-12)
        np.testing.assert_allclose(found["kolmogorov"], whole.kolmogorov().matrix)
        np.testing.assert_allclose(found["overlap"], whole.overlaps.matrix, atol=1e-9)

    def test_windows_shuffled_inside_are_alike_once_noise_is_out(self):
        given = {"corpus": "stdlib", "content": texts.content_of("stdlib"), "vocab": 20, "length": 16, "size": 1_000_000}
        as_it_is, shuffled = (float(text_blocks.measure_blocks(**given, **more)["ratio"]) for more in ({}, {"null": "window"}))
        assert as_it_is < 0.6
        assert shuffled == pytest.approx(1.0, abs=0.25)

    def test_the_score_is_that_of_the_corpus_room(self):
        import specht

        (job,) = texts.measure_corpora.jobs("smoke")
        found = job.run()
        assert found.identical(job.run())
        assert 0.2 < float(found["low"]) < float(found["score"]) < float(found["high"]) < 0.9
        tokens = {"length": 8, "vocab": 30}
        mine = texts.measure_score("stdlib", texts.content_of("stdlib"), size=None, seed=0, **tokens)
        assert float(mine["score"]) == specht.corpus.score("stdlib", **tokens).score

    def test_third_order_of_code(self):
        given = {"corpus": "stdlib", "content": texts.content_of("stdlib"), "size": 300_000, "seed": 0, "length": 6, "vocab": 8}
        found, shuffled = third_order.measure_third(**given), third_order.measure_third(**given, null="window")
        assert found.identical(third_order.measure_third(**given))
        assert float(found["second"]) < 0.9
        assert float(shuffled["second"]) == pytest.approx(1.0, abs=0.1)

    def test_a_cut_ends_with_a_line(self):
        parts = list(texts._first(texts.named_parts("stdlib")[0], 100_000))
        assert sum(len(content) for content in map(_content, parts)) <= 100_000
        assert all(_content(part).endswith(b"\n") for part in parts)


def _content(part):
    with open(part.path, "rb") as stream:
        return stream.read()[part.start : part.stop]
