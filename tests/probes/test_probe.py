"""The invariance probe against brute force over all permutations, and against the table of what breaks the symmetry of a transformer."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import specht
from specht.architecture import Architecture
from specht.errors import InputError
from specht.probes.search import Probe, probe
from specht.probes.stabilisers import members
from specht.sequences.actions import equivariance_residual, permute_context

SIZE = (8, 2, 4)


def partitions_of(items):
    """All ways of cutting a set into classes."""
    if not items:
        yield []
        return
    first, *rest = items
    for smaller in partitions_of(rest):
        yield [[first], *smaller]
        for place, each in enumerate(smaller):
            yield [*smaller[:place], [first, *each], *smaller[place + 1 :]]


def young(classes, columns):
    """Every permutation that keeps the classes."""
    for images in itertools.product(*(itertools.permutations(each) for each in classes)):
        permutation = [0] * columns
        for each, image in zip(classes, images, strict=True):
            for place, target in zip(each, image, strict=True):
                permutation[place] = target
        yield tuple(permutation)


def stabiliser(function, vocab, columns):
    """All permutations of the columns that leave a function unchanged, for every sequence there is; values (n, rows, width)."""
    x = np.array(list(itertools.product(range(vocab), repeat=columns)))
    before = np.asarray(function(x), dtype=float)
    before = before.reshape(len(x), before.shape[1] if before.ndim == 3 else 1, -1)
    moved = {
        permutation: np.asarray(function(permute_context(x, permutation, columns)), dtype=float).reshape(before.shape)
        for permutation in itertools.permutations(range(columns))
    }
    close = {permutation: np.abs(after - before).max(axis=(0, 2)) < 1e-9 for permutation, after in moved.items()}
    return [{permutation for permutation, same in close.items() if same[row]} for row in range(before.shape[1])]


def largest_young_subgroup(group, columns):
    inside = [classes for classes in partitions_of(list(range(columns))) if set(young(classes, columns)) <= group]
    return {frozenset(each) for each in max(inside, key=lambda classes: math.prod(math.factorial(len(each)) for each in classes))}


def bigrams(x):
    """How often each pair of tokens follows one another, the first token following the last."""
    pairs = 3 * x + np.roll(x, -1, axis=1)
    return (pairs[:, :, None] == np.arange(9)).sum(axis=1)


def prefixes(x):
    return np.cumsum(np.array([0.3, 1.0, -2.1])[x], axis=1)[:, :, None]


def prefixes_and_own(x):
    return np.stack([np.cumsum(x == 1, axis=1) - (x == 1), x], axis=2)


FUNCTIONS = {
    "sum and product": lambda x: x[:, :3].sum(axis=1) + 10 * x[:, 3] * x[:, 4],
    "pairs of pairs": lambda x: (x[:, 0] + x[:, 1]) * (x[:, 2] + x[:, 3]),
    "crossed": lambda x: x[:, 0] * x[:, 3] + (x[:, 1] - x[:, 4]) ** 2,
    "two outputs": lambda x: np.stack([x[:, :2].sum(axis=1), x[:, 1:4].max(axis=1)], axis=1),
    "cyclic bigrams": bigrams,
    "palindromes": lambda x: x[:, 0] * x[:, 4] + 7 * x[:, 1] * x[:, 3] + np.sin(x[:, 2]),
    "maximum": lambda x: x.max(axis=1),
    "constant": lambda x: np.full(len(x), 2.5),
    "zero": lambda x: np.zeros(len(x)),
    "one position": lambda x: x[:, 2],
    "a shift far from zero": lambda x: 1e6 + x[:, 1] * x[:, 2],
    "prefixes": prefixes,
    "prefixes and own token": prefixes_and_own,
    "order of everything": lambda x: x @ 3.0 ** np.arange(x.shape[1]),
}


class TestBruteForce:
    @pytest.mark.parametrize("readout", ["last", "mean"])
    @pytest.mark.parametrize("name", FUNCTIONS)
    def test_classes_are_those_of_the_largest_young_subgroup(self, name, readout):
        function, length = FUNCTIONS[name], 4 if readout == "last" else 5
        found = probe(function, 3, length, readout=readout, sequences=64, profile_samples=0)
        groups = stabiliser(function, vocab=3, columns=5)
        assert len(found.subgroups) == len(groups)
        for classes, group in zip(found.subgroups, groups, strict=True):
            assert {frozenset(each) for each in classes} == largest_young_subgroup(group, 5)
        context = [(*images, *range(length, 5)) for images in itertools.permutations(range(length))]
        if readout == "last":
            assert found.invariant == all(permutation in groups[-1] for permutation in context)
        if len(groups) == 1:
            view = found.output.readout
            assert view.rotation == ((*range(1, length), 0, *range(length, 5)) in groups[0])
            assert view.reversal == ((*range(length)[::-1], *range(length, 5)) in groups[0])
        assert all(view.confirmed for view in found.output.views)

    @pytest.mark.parametrize("classes", list(partitions_of([0, 1, 2, 3])), ids=str)
    @pytest.mark.parametrize("ignored", [False, True])
    def test_every_way_of_cutting_four_positions(self, classes, ignored):
        weights = np.array([0.0, 1.0, np.sqrt(2)])
        scales = [0.0 if ignored and number == 0 else np.pi**number for number in range(len(classes))]
        found = probe(
            lambda x: sum(scale * weights[x[:, each]].sum(axis=1) for scale, each in zip(scales, classes, strict=True)),
            3, 4, readout="mean", sequences=32, profile_samples=0,
        )  # fmt: skip
        assert {frozenset(each) for each in found.subgroups[0]} == {frozenset(each) for each in classes}
        assert set(found.output.readout.ignored) == (set(classes[0]) if ignored else set())
        assert found.invariant == (len(classes) == 1)

    def test_ignored_positions_are_told_from_those_that_are_alike(self):
        view = probe(lambda x: x[:, :2].sum(axis=1), 4, 4, profile_samples=0).output.readout
        assert view.classes == ((0, 1), (2, 3, 4))
        assert view.ignored == (2, 3, 4)


def test_members_keep_the_classes_and_differ():
    labels = np.array([0, 1, 0, -1, -1, 0])
    drawn = members(labels, 500, np.random.default_rng(0))
    assert {tuple(each) for each in drawn.tolist()} == set(young([[0, 2, 5], [1], [3, 4]], 6)) - {tuple(range(6))}
    assert len(members(np.arange(5), 10, np.random.default_rng(0))) == 0


@pytest.mark.parametrize(("length", "sees", "exchanges"), [(6, False, 5), (6, True, 15), (11, False, 10), (11, True, 55)])
def test_exchanges_that_are_tried(length, sees, exchanges):
    weights = 2.0 ** np.arange(length) if sees else np.ones(length)
    found = probe(lambda x: x @ weights, 2, length, readout="mean", profile_samples=0)
    assert found.exchanges == exchanges
    assert found.invariant is not sees


# The table of what breaks the symmetry of a transformer


def network_of(positions: str, causal: bool, depth: int, residual: bool = True, **fields) -> Architecture:
    return Architecture(
        vocab=4, length=6, attention="softmax", activation="gelu", positions=positions, causal=causal, depth=depth, residual=residual,
        norm="pre", **fields,
    )  # fmt: skip


def probed(arch: Architecture, **settings) -> Probe:
    return probe(arch, size=SIZE, **({"profile_samples": 0} | settings))


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("positions", ["none", "learned"])
def test_exact_table(positions, causal, depth, residual):
    found = probed(network_of(positions, causal, depth, residual))
    ignores = positions == "none" and (not causal or depth == 1)
    assert found.invariant is ignores
    assert found.residual.change < 1e-10 if ignores else found.residual.value > 1e-2
    assert found.precision == "float64"
    first = None if ignores else "layer 1" if positions == "learned" else "layer 2"
    assert found.first_layer == first
    assert [layer.name for layer in found.layers] == [*(f"layer {number}" for number in range(depth + 1)), "output"]
    assert [view.ignored for view in found.layers[0].views] == [tuple(set(range(7)) - {place}) for place in range(7)]
    for layer in found.layers[1:-1]:
        for place, view in enumerate(layer.views):
            later = set(range(place + 1, 7)) if causal else set()
            assert set(view.ignored) == later
            others = set(range(7)) - later - {place}
            alike = positions == "none" and (not causal or layer.name == "layer 1")
            expected = [others] if alike and others else [{each} for each in others]
            assert {frozenset(each) for each in view.classes} == {frozenset(each) for each in [{place}, *expected, later] if each}
            assert view.confirmed


def test_without_positions_and_mask_layers_are_equivariant():
    import jax

    arch = network_of("none", causal=False, depth=2)
    with jax.enable_x64(True):
        network = specht.nn.Network.init(arch, specht.nn.Size(*SIZE), key=jax.random.key(0)).in_double()
        x = np.random.default_rng(0).integers(4, size=(16, 7))
        assert equivariance_residual(lambda tokens: network.streams(tokens)[2], x, 7).value < 1e-10
    found = probed(arch)
    assert found.layers[2].views[3].classes == ((0, 1, 2, 4, 5, 6), (3,))
    assert found.subgroups == (((0, 1, 2, 3, 4, 5), (6,)),)


@pytest.mark.parametrize("positions", ["rotary", "sinusoidal", "stochastic"])
def test_other_positions_break_it_too(positions):
    found = probed(network_of(positions, causal=False, depth=1))
    assert not found.invariant
    assert found.residual.value > 1e-3
    assert found.first_layer == "layer 1"
    assert len(found.subgroups[0]) == 7
    assert any("drawn anew at every call" in note for note in found.remarks) == (positions == "stochastic")


def test_readouts_of_networks():
    mean = probed(specht.preset("bag-of-words", vocab=3, length=5))
    assert (mean.readout, mean.columns, mean.invariant) == ("mean", 5, True)
    assert mean.subgroups == ((tuple(range(5)),),)
    cls = probed(network_of("none", causal=True, depth=2, readout="cls"))
    assert cls.output.readout.ignored == (6,)
    assert not cls.invariant


class TestLayers:
    def test_adjacency_rises_with_causal_attention(self):
        causal = probed(network_of("none", True, 2, residual=False), sequences=64)
        scores = [layer.adjacency.value for layer in causal.layers[:-1] if layer.adjacency is not None]
        assert abs(scores[0] - 0.5) < 5 * causal.layers[0].adjacency.stderr
        assert scores[0] < scores[1] < scores[2]
        assert causal.output.adjacency is None

    def test_profiles_agree_with_the_verdict(self):
        found = probed(network_of("none", causal=True, depth=2, residual=False), profile_samples=400, max_level=2)
        ignoring, seeing = found.layers[1].profile, found.layers[2].profile
        assert ignoring is not None
        assert seeing is not None
        assert ignoring.order.value < 1e-6
        assert seeing.order.low > 0.05
        assert found.profile is found.output.profile
        assert found.profile.levels == (0, 1, 2)

    def test_profile_is_that_of_the_function(self):
        def function(x):
            return (x[:, :6] == 1).sum(axis=1) + 2.0 * x[:, 0]

        own = specht.profile(function, specht.sources.uniform(2), 6, 3, samples=300, max_level=2)
        found = probe(lambda x: {"hidden": x[:, :, None] * [1.0, 2.0], "out": function(x)}, 2, 6, seed=3, profile_samples=300, max_level=2)
        np.testing.assert_array_equal(found.profile.weights, own.weights)

    def test_wide_outputs_are_profiled_through_a_projection(self):
        weights = np.random.default_rng(0).normal(size=(4, 1000))

        def function(x):
            return weights[x[:, 0]] + weights[x[:, :5]].sum(axis=1)

        found = probe(function, 4, 5, profile_samples=200)
        exact = specht.profile(function, specht.sources.uniform(4), 5, samples=200, max_level=3)
        assert found.profile.order.value == pytest.approx(exact.order.value, abs=0.05)
        assert found.profile.total == pytest.approx(exact.total, rel=0.2)
        assert found.profile.total != exact.total

    def test_a_profile_that_is_refused_is_said(self):
        def function(x):
            return x[:, 0] + 1e6 * x[:, :6].all(axis=1)

        found = probe(function, 2, 6, profile_samples=300, sequences=256)
        assert found.profile is None
        assert "too few for a profile" in found.output.profile_note
        assert any(remark.startswith("No profile of output: ") for remark in found.remarks)


class TestVerdict:
    @pytest.mark.parametrize(
        ("function", "words"),
        [
            (lambda x: x.sum(axis=1), "ignores order: none of 64 permutations of the 6 context positions changes it at all (exact)."),
            (lambda x: x[:, 6], "The output ignores order, because it reads none of the 6 context positions (exact)."),
            (lambda x: np.ones(len(x)), "The output is the same for all 32 sequences that were tried: it ignores every token (float64)."),
            (lambda x: x[:, 1] * 1.0, "The output sees order: exchanging positions 1 and 2 changes it by 1 of its spread."),
            (lambda x: x[:, 1] * 1.0, "It does not read positions 1, 3–7."),
            (lambda x: x[:, :3].sum(axis=1) + 9.0 * x[:, 3:5].sum(axis=1) - 99 * x[:, 5], "not tell apart positions {1–3} {4, 5}."),
            (lambda x: (x[:, :6] * np.roll(x[:, :6], 1, axis=1) ** 2).sum(axis=1), "It ignores rotations of the context."),
        ],
    )  # fmt: skip
    def test_sentences(self, function, words):
        found = probe(function, 4, 6, profile_samples=0)
        assert words in found.verdict
        assert found.verdict in str(found)

    def test_layers_are_named(self):
        def layers(x):
            moments = np.cumsum(x, axis=1)[:, :, None] * [1.0, 2.0]
            return {"sums": moments, "order": np.cumsum(moments, axis=1), "sums again": moments, "head": moments[:, -1]}

        verdict = probe(layers, 3, 4, profile_samples=0).verdict
        assert "Hidden states at the last position see order in 'order' only." in verdict
        mean = probe(lambda x: [x[:, :, None] * np.arange(1.0, 5.0)[:, None], x @ np.arange(4.0)], 3, 4, readout="mean", profile_samples=0)
        assert "Hidden states averaged over positions see it from layer 0 on." in mean.verdict

    def test_rounding_of_float32_is_rounding_if_it_is_said(self):
        weights = np.random.default_rng(0).normal(size=50).astype(np.float32)

        def function(x):
            return np.cumsum(weights[x], axis=1, dtype=np.float32)[:, -1]

        single = probe(function, 50, 8, readout="mean", profile_samples=0)
        assert single.precision == "float32"
        assert single.invariant
        assert single.residual.change > 0
        double = probe(lambda x: function(x).astype(np.float64), 50, 8, readout="mean", profile_samples=0)
        assert not double.invariant
        assert any("computes in float32" in remark for remark in double.remarks)

    def test_differences_in_few_sequences_are_reported_as_such(self):
        fed = []

        def symmetric(x):
            fed.extend(map(tuple, x.tolist()))
            return x.sum(axis=1) * 1.0

        settings = {"readout": "mean", "sequences": 4, "profile_samples": 0}
        assert probe(symmetric, 5, 7, **settings).invariant
        drawn = fed[2:6]  # after two that show how large outputs are
        seen = set(drawn) | {(*x[:i], token, *x[i + 1 :]) for x in drawn for i in range(7) for token in range(5)}
        seen |= {tuple(permute_context([x], swap, 7)[0].tolist()) for x in drawn for swap in exchanges(7)}
        rare = next(x for x in fed if x not in seen)
        found = probe(lambda x: x.sum(axis=1) + 0.5 * (x == np.array(rare)).all(axis=1), 5, 7, **settings)
        assert not found.invariant
        assert found.output.exchange is None
        assert "The output sees order: a permutation of the context changes it by" in found.verdict
        assert any("draw more of them" in remark for remark in found.remarks)


def exchanges(length):
    for i, j in itertools.combinations(range(length), 2):
        images = list(range(length))
        images[i], images[j] = j, i
        yield tuple(images)


def test_same_seed_same_numbers():
    arch = network_of("none", causal=True, depth=2)
    one, two, other = (probed(arch, seed=seed) for seed in (1, 1, 2))
    assert one.residual == two.residual
    assert one.residual != other.residual
    assert probed(arch, weights=3).residual != probed(arch).residual


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"vocab": 1}, "vocab must be a whole number of at least 2, got 1."),
        ({"length": 1}, "length must be a whole number of at least 2, got 1."),
        ({"sequences": 3}, "sequences must be a whole number of at least 4, got 3."),
        ({"permutations": 0}, "permutations must be a whole number of at least 1, got 0."),
        ({"profile_samples": 50}, "profile_samples must be 0 or at least 100, got 50."),
        ({"readout": "first"}, "Unknown readout 'first'"),
        ({"max_level": -1}, "max_level must be a whole number of at least 0, got -1."),
    ],
)
def test_bad_settings_are_a_sentence(settings, sentence):
    with pytest.raises(InputError) as caught:
        probe(**({"model": lambda x: x[:, 0], "vocab": 3, "length": 4} | settings))
    assert sentence in str(caught.value)


def test_progress_ends_at_the_end():
    steps = []
    probe(lambda x: x[:, 0], 3, 4, profile_samples=100, progress=lambda done, total: steps.append(done / total))
    assert steps == sorted(steps)
    assert steps[-1] == 1.0
