"""What one can do with a spectrum, and what is refused with a sentence."""

from __future__ import annotations

import pytest
from small_cases import architecture

import specht
from specht.errors import InputError
from specht.groups.partition import Partition
from specht.sequences.sources import graded_mixture, uniform

BAD = {
    "The source has 3 tokens and the architecture 2: give both the same vocab.": lambda: specht.spectrum(architecture(2, 4), uniform(3)),
    "Unknown method 'yuong': did you mean 'young'?": lambda: specht.spectrum(architecture(2, 4), method="yuong"),
    "Unknown kernel 'nttk': did you mean 'ntk'?": lambda: specht.spectrum(architecture(2, 4), kind="nttk"),
    "Method 'linear' is for one block of linear attention": lambda: specht.spectrum(architecture(3, 4, activation="erf"), method="linear"),
    "use method='auto', which takes the one that fits.": lambda: specht.spectrum(architecture(3, 4, activation="erf"), method="linear"),
    "Method 'two tokens' does not apply: it is for vocab=2": lambda: specht.spectrum(architecture(3, 4), method="two tokens"),
    "because of its causal mask": lambda: specht.spectrum(architecture(2, 4, causal=True, depth=2)),
    "because of its fixed positions": lambda: specht.spectrum(architecture(2, 4, positions="sinusoidal")),
    "Method 'young' would take too long: 3 tokens at length 40 have": lambda: specht.spectrum(
        architecture(3, 40, activation="erf"), method="young"
    ),
    "the sums over tables have": lambda: specht.spectrum(architecture(3, 18, activation="erf"), method="young"),
    "its 4^8 contexts would have to be listed, more than 2500: use method='rayleigh'": lambda: specht.spectrum(
        architecture(4, 8, attention="softmax"), method="young"
    ),
    "more than length 2048 does: use method='rayleigh'": lambda: specht.spectrum(
        architecture(2, 3000, activation="erf"), max_level=1, method="two tokens"
    ),
    "heads of 152 sequences would have to be drawn together, at most 136": lambda: specht.spectrum(
        architecture(2, 15, attention="softmax", readout="mean", activation="erf", depth=2, norm="pre"), method="two tokens"
    ),
    "contingency tables of 8 tokens at length 1 do not fit into 64-bit numbers": lambda: specht.spectrum(
        architecture(8, 1, activation="erf"), method="young"
    ),
    "Method 'linear' has blocks of 40000 x 40000 entries for 200 tokens": lambda: specht.spectrum(architecture(200, 5), method="linear"),
    "501 levels at length 1000 need": lambda: specht.spectrum(architecture(2, 1000, activation="erf"), max_level=500, method="two tokens"),
    "give a max_level of at most 6, or a shorter length": lambda: specht.spectrum(
        architecture(2, 100, activation="erf"), max_level=25, method="rayleigh"
    ),
    "400 sampled heads of all pairs": lambda: specht.spectrum(architecture(2, 200, attention="softmax"), method="two tokens", heads=400),
    "ask for fewer heads, or use method='rayleigh'": lambda: specht.spectrum(
        architecture(3, 7, attention="softmax"), method="young", heads=10**4
    ),
    "finite differences of 301 levels at length 600 run through": lambda: specht.spectrum(
        architecture(2, 600, activation="erf"), max_level=300, method="two tokens"
    ),
    "would take about 1e+449 kernel evaluations": lambda: specht.spectrum(
        architecture(2, 10**150, activation="erf"), max_level=1, method="two tokens"
    ),
    "its lists of counts need about 5 GiB, at most 4": lambda: specht.spectrum(
        architecture(3, 27, readout="cls", activation="erf"), max_level=0, method="young"
    ),
    "contingency tables of 50000 tokens at length 4 do not fit": lambda: specht.spectrum(
        architecture(50000, 4, activation="erf"), method="young"
    ),
    "factorials up to length 1000000000000 would have to be listed": lambda: specht.spectrum(
        architecture(1, 10**12, activation="erf"), method="young"
    ),
    "at length 1000000000000 there is no room for them: choose a shorter length": lambda: specht.spectrum(
        architecture(3, 10**12, activation="erf")
    ),
    "This kernel exceeds the range of float64": lambda: specht.spectrum(architecture(2, 4, s_w=1e200)),
    "choose smaller variances": lambda: specht.spectrum(architecture(2, 4, s_1=1e200, s_2=1e200, activation="relu"), method="rayleigh"),
    "tolerance must be a finite number of at least 0, got '1e-3'.": lambda: specht.spectrum(architecture(2, 4)).merged("1e-3"),
    "smallest must be a finite number of at least 0, got nan.": lambda: specht.spectrum(architecture(2, 4)).truncated(
        smallest=float("nan")
    ),
    "are more than 16777216 tokens": lambda: specht.spectrum(architecture(3, 10**6, activation="erf"), max_level=1),
    "arch must be an Architecture, got 'V=2 L=4'": lambda: specht.spectrum("V=2 L=4"),
    "source must be one of specht.sources, got 'uniform'": lambda: specht.spectrum(architecture(2, 4), "uniform"),
    "x holds token 5, but vocab=2 allows 0 to 1": lambda: _values([[0, 1, 5, 0, 0]]),
    "x has 4 columns, but length=4": lambda: _values([[0, 1, 1, 0]]),
    "is no row of this spectrum: take one of its `rows`.": lambda: specht.spectrum(architecture(2, 4)).eigenfunction(
        specht.spectrum(architecture(2, 5)).rows[0]
    ),
    "max_level must be a whole number of at least 0, got -1.": lambda: specht.spectrum(architecture(2, 4), max_level=-1),
    "is not in this spectrum": lambda: specht.spectrum(architecture(2, 4)).top(Partition((2, 2))),
    "0, 1, 1, 2": lambda: _eigenfunction([0, 1, 1, 2]),
}


def _eigenfunction(permutation):
    spec = specht.spectrum(architecture(2, 4))
    return spec.eigenfunction(spec.rows[0], permutation)


def _values(x):
    spec = specht.spectrum(architecture(2, 4))
    return spec.eigenfunction(spec.rows[0])(x)


@pytest.mark.parametrize(("sentence", "call"), BAD.items(), ids=list(BAD))
def test_bad_input(sentence, call):
    with pytest.raises(InputError) as caught:
        call()
    assert sentence in str(caught.value)


def test_exact_methods_refuse_a_source_with_an_order_and_say_how_far_it_is():
    source = graded_mixture(0.5, vocab=2)
    gap = specht.sources.exchangeability_gap(source, 5)
    with pytest.raises(InputError, match=f"changes by a total variation of {gap}"):
        specht.spectrum(architecture(2, 5, activation="erf"), source, method="two tokens")


@pytest.mark.parametrize("length", [6, 64])
def test_merging_keeps_the_trace(length):
    spec = specht.spectrum(architecture(2, length, activation="erf"), uniform(2))
    merged = spec.merged()
    total = sum(row.degeneracy * row.eigenvalue for row in merged if not row.below_rounding)
    assert total == pytest.approx(spec.resolved_trace, rel=1e-9)
    assert sum(row.degeneracy for row in merged) == sum(row.degeneracy for row in spec.rows)


def test_truncation_leaves_out_what_is_not_resolved():
    spec = specht.spectrum(architecture(2, 40, activation="erf"), uniform(2))
    assert any(row.below_rounding for row in spec.rows)
    assert not any(row.below_rounding for row in spec.truncated())
    assert "lie below rounding" in str(spec)


def test_rows_can_be_merged_truncated_and_printed():
    spec = specht.spectrum(architecture(3, 6), uniform(3))
    assert sum(row.degeneracy for row in spec.merged()) == sum(row.degeneracy for row in spec.rows)
    assert len(spec.merged()) < len(spec.rows)  # uniform tokens can be renamed
    assert spec.truncated(2) == spec.rows[:2]
    assert all(row.eigenvalue >= 0.01 * spec.trace for row in spec.truncated(smallest=0.01))
    text = str(spec)
    assert "[5,1]" in text
    assert f"E[k] = {spec.trace:.6g}" in text


PROGRESS = {
    "linear": (architecture(3, 4), {}),
    "two tokens": (architecture(2, 5, activation="erf"), {}),
    "two tokens, heads": (architecture(2, 3, attention="softmax"), {"heads": 256}),
    "two tokens, listed": (architecture(2, 4, attention="softmax", scaling="tied"), {}),
    "young": (architecture(3, 4, activation="erf"), {}),
    "young, heads": (architecture(3, 2, attention="softmax"), {"method": "young", "heads": 256}),
    "rayleigh": (architecture(3, 5, activation="erf"), {"method": "rayleigh", "max_level": 2, "sequences": 8}),
}


@pytest.mark.parametrize(("arch", "options"), PROGRESS.values(), ids=list(PROGRESS))
def test_progress_covers_the_whole_work(arch, options):
    calls: list[tuple[int, int]] = []
    specht.spectrum(arch, progress=lambda done, total: calls.append((done, total)), **options)
    done = [call[0] for call in calls]
    assert done == sorted(done)
    assert {total for _, total in calls} == {done[-1]}
    if "heads" in options:  # sampling takes most of the time, the eight repeats of the sums the rest
        assert sum(0 < each < 0.8 * done[-1] for each in done) > 8
        assert sum(0.8 * done[-1] < each for each in done) > 8
