"""The claims on text: judges on made-up numbers, what they say where data are missing, and jobs on the corpus that every machine has."""

from __future__ import annotations

import json

import numpy as np
import pytest
from judging import assert_says_yes_and_no
from made_text import BODY, CLOSE, PIECES, SURROGATE, blocks, figure, lost, score, spectra, symmetry, third, with_surrogate

from specht.corpus.read.named import NAMED
from specht.corpus.stats.shuffles import NULLS
from specht.errors import InputError
from specht.lab.archive import Archive, encode
from specht.lab.jobs import Job
from specht.papers import judge as judge_part, runs_of, select
from specht.papers.view_from_infinity import PAPER, likeness, text, text_blocks, texts, third_order
from specht.report.scorecard import answer

EXPERIMENTS = [each for each in PAPER.experiments if each.name in ("infinity.f3", "infinity.q8", "infinity.e5", "infinity.e7")]
CLAIMS = {claim.id.removeprefix("infinity."): claim for experiment in EXPERIMENTS for claim in experiment.claims}
NEEDS_TEXT = [name for name in CLAIMS if name not in ("e5-corpora", "f3-order")]


def without_texts():
    """Results on a machine that only has the corpus that every machine has."""
    return [
        *(lost(name, blocks()) for name in (BODY, "wikitext-2")),
        lost(BODY, spectra()),
        blocks("stdlib"),
        *(lost(BODY, each) for each in (*with_surrogate(BODY, 0.1), *with_surrogate(BODY, 0.1, metric="plain"))),
        *with_surrogate("stdlib", 0.5),
        *(lost(BODY, each) for each in third()),
    ]


def of(experiment, results):
    """Those results that an experiment asks for."""
    names = ("corpus", "null", "metric")
    asked = {(job.function, *(job.arguments.get(name) for name in names)) for job in experiment.jobs("full")}
    return [result for result in results if (result.function, *(result.arguments.get(name) for name in names)) in asked]


def corpora(**given):
    return [*with_surrogate("stdlib", 0.5), *with_surrogate("kalevala", 0.1, **given)]


STRONG = SURROGATE | {"centred": (0.97, 0.6), "ks": (0.02, 0.4), "pca": (0.9, 0.3)}
"""A bigram surrogate in which k = 0 stands farther apart than in the text."""
CASES = {
    "f3-similarity": (figure(), figure(centred=(0.96, 0.91))),
    "f3-similarity-gap": (figure(), figure(near=0.99)),
    "f3-similarity-high": (figure(near=0.99, far=0.5, low=0.98), figure(centred=(0.96, 0.98))),
    "f3-similarity-markov": (figure(), figure(surrogate=STRONG)),
    "f3-eigenvalues": (figure(), figure(ks=(0.18, 0.14))),
    "f3-eigenvalues-short": (figure(ks=(0.18, 0.14), short=(0.02, 0.15)), figure(short=(0.18, 0.14))),
    "f3-eigenvalues-gap": (figure(), figure(ks=(0.18, 0.14))),
    "f3-eigenvalues-chi2": (figure(), figure(weighed=(0.18, 0.14))),
    "f3-subspaces": (figure(), figure(pca=(0.7, 0.75))),
    "f3-subspaces-gap": (figure(), figure(pca=(0.7, 0.75))),
    "f3-iid": (figure(), figure(iid=(0.999, 0.95))),
    "f3-off-site": (figure(ratio=1.02), figure()),
    "f3-order": (figure(cosines=(0.99, 0.9)), figure()),
    "q8-wikitext": (symmetry(), symmetry(surrogate=0.2)),
    "q8-markov": (symmetry(), symmetry(plain=(0.01, 0.005, 0.015), surrogate=0.05)),
    "e5-corpora": (corpora(), corpora(surrogate=0.2)),
    "e7-third-order": (third(), third(surrogate=0.09)),
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
        ("f3-similarity-gap", figure(far=0.8)),  # two blocks that are far from each other
        ("f3-iid", figure(centre=0.9)),  # shuffled, but not independent
        ("f3-eigenvalues", figure(surrogate=STRONG)),
        ("f3-eigenvalues-short", figure(surrogate=STRONG)),
        ("f3-subspaces", figure(surrogate=STRONG)),
        ("f3-eigenvalues-chi2", figure(surrogate=SURROGATE | CLOSE | {"weighed": (0.02, 0.4)})),
        ("q8-wikitext", symmetry(centred=(0.96, 0.91))),
        ("q8-wikitext", symmetry(ks=(0.2, 0.1))),
        ("e7-third-order", third(shuffled=1.2)),  # the control is off by more than its error
    ],
)
def test_every_part_of_a_criterion_counts(name, results):
    assert CLAIMS[name].judge(results).outcome == "fails"


@pytest.mark.parametrize(
    ("name", "results"),
    [
        ("f3-similarity", figure(centred=(0.97, 0.888))),
        ("f3-similarity-markov", figure(surrogate=SURROGATE | CLOSE | {"centred": (0.97, 0.852)})),
        ("f3-eigenvalues", figure(ks=(0.15, 0.152), surrogate=SURROGATE | CLOSE | {"ks": (0.15, 0.12)})),
        ("f3-subspaces", figure(surrogate=SURROGATE | CLOSE | {"pca": (0.9, 0.702)})),
        ("f3-off-site", figure(ratio=0.955)),
        ("q8-markov", symmetry(plain=(0.03, 0.01, 0.05))),
        ("e5-corpora", corpora(low=-0.05, high=0.25, surrogate=0.05)),
        ("e7-third-order", third(values=(0.01, -0.01, 0.03))),
        ("e7-third-order", third(spread=0.1)),  # shuffles that differ too much for a control
    ],
)
def test_what_pieces_of_the_text_leave_open_is_not_decided(name, results):
    assert CLAIMS[name].judge(results).outcome == "undecided"


def test_errors_are_those_of_leaving_out_pieces():
    """Against the formula of the jackknife: the sum of squares times (n - 1) / n, with Student's interval."""
    from scipy import stats

    text_of = blocks().data
    found = likeness.measured(text_of, likeness.margin)
    left_out = [likeness.margin(likeness.Likeness(one)) for one in text_of["cosine_without"].sel(certain="centred").values]
    error = np.sqrt(np.sum((left_out - np.mean(left_out)) ** 2) * (PIECES - 1) / PIECES)
    assert found.value == pytest.approx(0.12)
    assert found.stderr == pytest.approx(error)
    half = stats.t.ppf(0.95, PIECES - 1) * error
    assert found.interval == pytest.approx((0.12 - half, 0.12 + half))


def test_the_order_of_corpora_has_the_errors_of_its_numbers():
    sure = CLAIMS["f3-order"].judge(figure())
    assert (sure.outcome, sure.measured) == ("fails", pytest.approx(-1.0))
    assert CLAIMS["f3-order"].judge(figure(cosines=(0.9705, 0.9))).outcome == "undecided"  # two cosines that errors do not separate


def test_other_seeds_say_nothing_about_a_text():
    """A text is one sample: were its shuffles drawn anew in each run, their differences would be taken for all the error there is."""
    for experiment in EXPERIMENTS:
        (part,) = select([experiment.name], among=[PAPER])
        assert len(runs_of(part, "quick", 0, 5)) == 1


@pytest.mark.parametrize(("name", "number"), [("f3-order", 8), ("e5-corpora", 1), ("e7-less", 1)])
def test_figures_are_drawn(name, number):
    (experiment,) = (one for one in EXPERIMENTS if CLAIMS[name] in one.claims)
    assert len(experiment.plots(CASES[name][0])) == number


def test_tables_put_the_surrogate_beside_the_text():
    by_name = {experiment.name: experiment for experiment in EXPERIMENTS}
    tables = {
        "infinity.f3": (figure(), 3),
        "infinity.q8": (symmetry(), 1),
        "infinity.e5": (corpora(), 1),
        "infinity.e7": (third(), 1),
    }
    for name, (results, number) in tables.items():
        found = by_name[name].tables(results)
        assert len(found) == number
        assert "surrogate" in str([(table.header, table.rows) for table in found])


@pytest.mark.parametrize(
    ("name", "results"),
    [
        ("q8-wikitext", symmetry(defined=0.0)),
        ("e5-corpora", with_surrogate("stdlib", 0.5, defined=0.0)),
        ("e7-third-order", third(defined=0.0)),
        ("e7-less", third(defined=0.0)),
    ],
)
def test_without_correlations_there_is_nothing_to_judge(name, results):
    verdict = CLAIMS[name].judge(results)
    assert (verdict.outcome, verdict.missing) == ("not tested", False)


def test_the_smallest_difference_is_shown_with_its_error():
    alice = [lost("alice", each) for each in with_surrogate("alice", 0.1)]
    verdict = CLAIMS["e5-corpora"].judge([*with_surrogate("stdlib", 0.5), *with_surrogate("kalevala", 0.06, 0.05, 0.09), *alice])
    assert (verdict.measured, verdict.stderr) == (pytest.approx(0.04), pytest.approx(np.hypot(0.01, 0.005)))
    assert "of kalevala and" in verdict.regime
    assert "2 corpora" in verdict.regime
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
        found = [lost(BODY, blocks()), lost(BODY, score(BODY, 0.1)), lost("wikitext-2", blocks()), code, score("stdlib", 0.48)]
        assert CLAIMS["f3-order"].judge([*found, *(lost("ecoli-genome", like) for like in (bases, score("ecoli-genome", 0.08)))]).missing
        verdict = CLAIMS["f3-order"].judge([*found, bases, score("ecoli-genome", 0.08)])
        assert (verdict.outcome, verdict.measured) == ("fails", -1.0)
        assert "Not on this machine: wikitext-2-body." in verdict.regime

    @pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda each: each.name)
    def test_pages_say_what_to_do(self, experiment):
        results = of(experiment, without_texts())
        assert all(plot.caption for plot in experiment.plots(results))
        assert any("wikitext-2-body is not here." in row for table in experiment.tables(results) for row in table.rows)

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
        assert "specht symmetry wikitext-2-body --download" in reason
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
        claim = judged.claims[0]
        assert (claim.paper, claim.verdict, claim.expected, claim.missing) == ("infinity", "not tested", None, True)
        assert not claim.is_unexpected
        assert "quick" in part.experiment.claims[0].record  # which is not held against a machine without the text
        assert "For 1 this machine lacks the data. wikitext-2-body is not here." in answer([claim], "quick")


class TestJobs:
    @pytest.mark.parametrize("scale", ["smoke", "quick", "full"])
    def test_arguments_name_the_content(self, scale):
        for experiment in EXPERIMENTS:
            for job in experiment.jobs(scale):
                given = json.loads(job.text)
                name, content = given["corpus"], given["content"]
                assert content in ({None, NAMED[name].sha256} if name != "stdlib" else {texts.content_of("stdlib")})

    def test_full_scale_scores_every_corpus(self):
        found = {(job.arguments["corpus"], job.arguments["null"]) for job in texts.measure_corpora.jobs("full")}
        assert found == {(name, null) for name in NAMED for null in (None, "bigram")}

    def test_blocks_of_code_are_the_same_again(self):
        given = {"corpus": "stdlib", "content": texts.content_of("stdlib"), "vocab": 12, "length": 8, "size": 200_000}
        for measure in (text_blocks.measure_blocks, text_blocks.measure_spectra):
            found = measure(**given)
            assert found.identical(measure(**given))
            assert {*NULLS, "bigram"} == {null for null in (*NULLS, "bigram") if not found.identical(measure(**given, null=null))}
        np.testing.assert_allclose(found["eigenvalue"].sum("index"), 1.0)
        np.testing.assert_allclose(np.diagonal(found["overlap"]), 1.0)

    def test_blocks_are_those_of_the_corpus_room(self):
        """Cosines, distances and overlaps by the room's own functions, where `<unk>` makes no difference; of all and without a piece."""
        from specht.corpus.stats.harmonics import measure_harmonics
        from specht.corpus.stats.moments import LagCounts

        given = {"vocab": 12, "length": 8}
        content = texts.content_of("stdlib")
        found = dict(text_blocks.measure_blocks("stdlib", content, size=200_000, **given))
        found |= dict(text_blocks.measure_spectra("stdlib", content, size=200_000, **given))
        survey = text_blocks._survey(texts.opened("stdlib", content, 200_000), unknown=False, draw=0, **given)
        for without in (None, 5):
            counts = LagCounts(8, 13)
            for segment in survey.segments(range(len(survey.sizes))):
                if segment.block != without:
                    counts.update(segment)
            pairs = counts.tables, counts.pairs, counts.probabilities
            whole = measure_harmonics(*pairs, eigenvalues=True, components=10)
            weighed = measure_harmonics(*pairs, eigenvalues=True, whitened=True)
            known = {"kolmogorov": whole.kolmogorov().matrix, "weighed": weighed.kolmogorov().matrix, "overlap": whole.overlaps.matrix}
            for name, matrix in known.items():
                mine = found[name] if without is None else found[f"{name}_without"].isel(piece=without)
                np.testing.assert_allclose(mine, matrix, atol=1e-9)
            rest = found["cosine_without"].isel(piece=5).sel(certain="centred")
            np.testing.assert_allclose(found["cosine"].sel(kind="centred") if without is None else rest, whole.cosines.matrix, rtol=1e-12)

    def test_windows_shuffled_inside_are_alike_once_noise_is_out(self):
        given = {"corpus": "stdlib", "content": texts.content_of("stdlib"), "vocab": 20, "length": 16, "size": 1_000_000}
        as_it_is, shuffled = (text_blocks.measure_blocks(**given, **more) for more in ({}, {"null": "window"}))
        assert float(as_it_is["ratio"]) + 4 * float(as_it_is["ratio_stderr"]) < 0.6
        assert float(shuffled["ratio"]) == pytest.approx(1.0, abs=4 * float(shuffled["ratio_stderr"]))
        assert 0.0 < float(shuffled["ratio_stderr"]) < 0.1

    def test_the_score_is_that_of_the_corpus_room(self):
        import specht

        (job,) = texts.measure_corpora.jobs("smoke")
        found = job.run()
        assert found.identical(job.run())
        assert 0.2 < float(found["low"]) < float(found["score"]) < float(found["high"]) < 0.9
        tokens = {"length": 8, "vocab": 30}
        mine = texts.measure_score("stdlib", texts.content_of("stdlib"), size=None, **tokens)
        assert float(mine["score"]) == specht.corpus.score("stdlib", **tokens).score
        surrogate = texts.measure_score("stdlib", texts.content_of("stdlib"), size=None, null="bigram", **tokens)
        assert float(surrogate["high"]) < float(mine["low"])
        plain = texts.measure_score("stdlib", texts.content_of("stdlib"), size=None, metric="plain", **tokens)
        assert float(plain["score"]) == specht.corpus.score("stdlib", metric="plain", **tokens).score

    def test_third_order_of_code(self):
        given = {"corpus": "stdlib", "content": texts.content_of("stdlib"), "size": 300_000, "length": 6, "vocab": 8}
        found, shuffled, surrogate = (third_order.measure_third(**given, null=null) for null in (None, "window", "bigram"))
        assert found.identical(third_order.measure_third(**given))
        assert float(found["second"]) < 0.9
        assert float(shuffled["second"]) == pytest.approx(1.0, abs=0.1)
        assert float(surrogate["second"]) != float(found["second"])

    def test_a_cut_ends_with_a_line(self):
        parts = list(texts._first(texts.named_parts("stdlib")[0], 100_000))
        assert sum(len(content) for content in map(_content, parts)) <= 100_000
        assert all(_content(part).endswith(b"\n") for part in parts)


def _content(part):
    with open(part.path, "rb") as stream:
        return stream.read()[part.start : part.stop]
