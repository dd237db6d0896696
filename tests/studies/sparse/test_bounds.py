"""Bounds against numbers worked out by hand, against brute force where they bound something, and against their own monotony."""

from __future__ import annotations

import dataclasses
import itertools
import math

import jax
import numpy as np
import pytest
from scipy import optimize, special

import specht
from specht.errors import InputError
from specht.studies.sparse.bounds import covering, networks, representation
from specht.studies.sparse.bounds.covering import DenseNorms, HeadNorms, LayerNorms, norm_21, spectral
from specht.studies.sparse.model import BitTransformer, Perceptron

UNIT, UNIT_LAYER = HeadNorms(1, 1, 1), LayerNorms(1, 1, 1, 1, 1, 1)
SIZE = {"samples": 100, "length": 50, "width": 64}
RNG = np.random.default_rng(0)


def test_norms_by_hand():
    matrix = [[3.0, 0.0, 1.0], [4.0, 2.0, 0.0]]
    assert norm_21(matrix) == 8.0
    assert spectral(np.diag([3.0, -5.0])) == 5.0
    head = HeadNorms.of(np.diag([2.0, 1.0]), [[0.0, 3.0], [0.0, 4.0]])
    assert dataclasses.astuple(head) == (3.0, 2.0, 7.0)  # of the transposed query-key matrix


def test_lemma_46_by_hand_from_lemma_a10():
    a10 = 36 * (2 * 4) ** 2 * math.log(2 * 34 * 20 + 1)
    assert covering.linear_cover(1.0, 2.0, 0.5, 20, 8) == pytest.approx(4 * 16 * math.log(17) + a10)


def test_softmax_is_lipschitz_by_two():
    """Corollary A.7 and lemma 4.3 on random heads: never broken, and nearly reached."""
    worst = 0.0
    for _ in range(2000):
        a, b = RNG.standard_normal((2, 5)) * RNG.uniform(0.1, 4)
        change = np.abs(special.softmax(a) - special.softmax(b)).sum()
        assert change <= covering.SOFTMAX * np.abs(a - b).max() + 1e-12
        x, v, w = RNG.standard_normal((5, 3)), RNG.standard_normal((3, 3)), RNG.standard_normal((3, 3))
        b_x = np.linalg.norm(x, axis=1).max()
        moved = np.linalg.norm(special.softmax(a) @ (x @ v) - special.softmax(b) @ (x @ w))
        inner = np.linalg.norm(x @ (v - w), axis=1).max()
        bound = covering.head_change(np.abs(a - b).max(), inner, b_x, b_in=spectral(v))
        assert moved <= bound
        worst = max(worst, moved / bound)
    assert worst > 0.4


def cheapest_split(costs, slopes, total=1.0):
    """Lemma A.8: the least sum of a / x² where that of b x is the total."""
    return sum(a ** (1 / 3) * b ** (2 / 3) for a, b in zip(costs, slopes, strict=True)) ** 3 / total**2


def test_lemma_a8_against_a_minimiser():
    costs, slopes = [2.0, 0.5, 7.0], [1.0, 3.0, 0.2]

    def total(logs):
        x = np.exp(logs)
        x = x / (np.array(slopes) @ x)
        return float(np.sum(np.array(costs) / x**2))

    found = optimize.minimize(total, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-10, "maxiter": 4000})
    assert cheapest_split(costs, slopes) == pytest.approx(found.fun, rel=1e-6)
    assert cheapest_split(costs, slopes, 2.0) == pytest.approx(found.fun / 4, rel=1e-6)


def test_theorem_42_is_the_best_split():
    def cover(size):
        return lambda resolution: size / resolution**2

    found = covering.head_cover(cover(3.0), cover(5.0), 0.1, b_x=1.5, b_in=2.0, out=0.7)
    grid = [
        3.0 / (alpha * 0.1 / (2 * 0.7 * 2.0 * 1.5)) ** 2 + 5.0 / ((1 - alpha) * 0.1 / 0.7) ** 2
        for alpha in np.linspace(1e-4, 1 - 1e-4, 20001)
    ]
    assert found == pytest.approx(min(grid), rel=1e-6)
    assert found == pytest.approx(cheapest_split([3.0, 5.0], [2 * 0.7 * 2.0 * 1.5, 0.7], 0.1), rel=1e-6)


def test_corollary_45_follows_from_its_parts():
    """Leading factors of lemma 4.6 put into theorem 4.2 give the exact version, whatever the norms."""
    log = math.log(64 * 100 * 50)
    for _ in range(5):
        head, b_x = HeadNorms(*RNG.uniform(0.2, 4, 3)), RNG.uniform(0.3, 3)
        found = covering.head_cover(
            lambda r, h=head, b=b_x: (h.query_key_21 * b / r) ** 2 * log,
            lambda r, h=head, b=b_x: (h.value_21 * b / r) ** 2 * log,
            0.1,
            b_x,
            b_in=head.value,
        )
        assert covering.head_capacity(head, b_x, **SIZE) / 0.01 == pytest.approx(found, rel=1e-5)


def test_corollary_45_at_unit_norms():
    found = [covering.head_capacity(UNIT, 1.0, samples=100, length=T, width=64) / 0.01 for T in (25, 100, 400, 1600)]
    np.testing.assert_allclose(found, [20.8e3, 23.2e3, 25.6e3, 28.0e3], rtol=0.005)
    assert covering.head_capacity(UNIT, 1.0, **SIZE, version="appendix") == pytest.approx(8 * math.log(64 * 5000))
    assert covering.head_capacity(UNIT, 1.0, **SIZE, version="main text") == pytest.approx(8 * math.log(5000))
    explicit = [covering.explicit_head_cover(UNIT, 1.0, 0.1, samples=100, length=T, width=64) for T in (25, 1600)]
    np.testing.assert_allclose(explicit, [3.5e6, 4.6e6], rtol=0.03)


def test_heads_and_positions():
    one = covering.head_capacity(UNIT, 1.0, **SIZE)
    assert covering.head_capacity([UNIT] * 4, 1.0, **SIZE) == pytest.approx(64 * one)  # H^3
    assert covering.head_capacity(UNIT, 1.0, positions=0.5, **SIZE) == pytest.approx(covering.head_capacity(UNIT, 1.5, **SIZE))


def test_the_token_that_asks_has_a_norm_of_its_own():
    """By hand: t = 2 · 2 · 1 · 1.5 · 4.5 = 27, so (1 + 9)³ (1.5)² log(d m T)."""
    head = HeadNorms(value_21=1.0, value=1.0, query_key_21=2.0)
    log = math.log(64 * 100 * 50)
    assert covering.head_capacity(head, 1.5, query_norm=4.5, **SIZE) == pytest.approx(2250 * log)
    assert covering.head_capacity(head, 1.5, query_norm=9.0, version="appendix", **SIZE) == pytest.approx(2250 * log)
    # Scores are linear in it: as a matrix that is larger by as much.
    larger = dataclasses.replace(head, query_key_21=6.0)
    wanted = covering.explicit_head_cover(larger, 1.5, 0.1, **SIZE)
    assert covering.explicit_head_cover(head, 1.5, 0.1, query_norm=3.0, **SIZE) == pytest.approx(wanted)
    for values in (
        [covering.head_capacity(head, 1.5, query_norm=size, **SIZE) for size in (0.0, 0.5, 1.0, 3.0)],
        [covering.explicit_head_cover(head, 1.5, 0.1, query_norm=size, **SIZE) for size in (0.1, 0.5, 1.0, 3.0)],
    ):
        assert (np.diff(values) > 0).all()
    with pytest.raises(InputError, match="query_norm must be a finite number of at least 0"):
        covering.head_capacity(head, 1.5, query_norm=-1.0, **SIZE)


def test_theorem_a17_by_hand():
    layers, log = [LayerNorms(2, 1, 3, 0.5, 1.5, 2), LayerNorms(1, 2, 1, 1, 1, 1)], math.log(64 * 5000)
    passed = [2 * 1 * (1 + 2.0), 1 * 2 * (1 + 4.0)]
    parts = [1.5 ** (2 / 3) + (2 * 2 * 1 * 3) ** (2 / 3) + (2 * 2) ** (2 / 3), 1 + (2 * 1 * 2 * 1) ** (2 / 3) + 1]
    proved = (3 ** (2 / 3) * (1 + passed[1] ** (2 / 3) * parts[0] + parts[1])) ** 3 * log
    assert covering.stack_capacity(layers, 3.0, head_size=8, **SIZE) == pytest.approx(proved)
    printed = [1.5 ** (2 / 3) + 16 * (2 * 2 * 3) ** (2 / 3) + 4 * 4 ** (2 / 3), 1 + 16 * 4 ** (2 / 3) + 4]
    printed = (3 ** (2 / 3) + printed[0] + passed[0] ** (2 / 3) * printed[1]) ** 3 * log
    assert covering.stack_capacity(layers, 3.0, head_size=8, as_printed=True, **SIZE) == pytest.approx(printed)
    assert covering.stack_capacity(layers, 3.0, head_size=8, residual=True, **SIZE) > proved


def projected(x):
    return x / np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True))


def layer(x, value, query_key, mix):
    attended = special.softmax(x @ query_key @ x.T, axis=1) @ x @ value
    return projected(np.maximum(projected(attended), 0.0) @ mix)


def test_changes_are_passed_on_by_the_layers_above():
    """Perturbing the first of two layers moves the output by at most what the second passes on, and by far more than one: the
    products of theorem A.17 run over later layers, not over earlier ones."""
    largest = 0.0
    for _ in range(300):
        x = projected(RNG.standard_normal((4, 3)))
        small, large = 0.2 * RNG.standard_normal((3, 3)), 4.0 * RNG.standard_normal((3, 3))
        moved = small + 1e-5 * RNG.standard_normal((3, 3))
        hidden = [layer(x, value, np.eye(3), np.eye(3)) for value in (small, moved)]
        outputs = [layer(h, large, np.eye(3), np.eye(3)) for h in hidden]
        inside, outside = (np.linalg.norm(each[0] - each[1], axis=1).max() for each in (hidden, outputs))
        assert outside <= spectral(large) * (1 + 4) * inside + 1e-12
        largest = max(largest, outside / np.linalg.norm(x @ (small - moved), axis=1).max())
    assert largest > 1.5  # with the products of earlier layers it could be no more than one


FIELDS = [field.name for field in dataclasses.fields(HeadNorms)]


@pytest.mark.parametrize("name", FIELDS)
def test_heads_are_monotone_in_every_norm(name):
    values = [covering.head_capacity(dataclasses.replace(UNIT, **{name: size}), 1.0, **SIZE) for size in (0.0, 0.5, 1.0, 3.0)]
    assert all(second > first for first, second in itertools.pairwise(values))
    assert np.isfinite(values).all()


@pytest.mark.parametrize("as_printed", [False, True])
@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(LayerNorms)])
def test_stacks_are_monotone_in_every_norm(name, as_printed):
    for place in range(2):
        values = []
        for size in (0.1, 0.5, 1.0, 3.0):
            layers = [UNIT_LAYER] * 2
            layers[place] = dataclasses.replace(UNIT_LAYER, **{name: size})
            values.append(covering.stack_capacity(layers, 1.0, head_size=8, as_printed=as_printed, **SIZE))
        assert all(second >= first for first, second in itertools.pairwise(values))
        assert np.isfinite(values).all()


def test_bounds_are_logarithmic_in_length_and_the_perceptron_is_not():
    lengths = [16, 64, 256, 1024]
    for capacity in (
        lambda T: covering.head_capacity(UNIT, 1.0, samples=100, length=T, width=64),
        lambda T: covering.head_capacity([UNIT] * 3, 2.0, samples=100, length=T, width=64),
        lambda T: covering.stack_capacity([UNIT_LAYER] * 3, 1.0, samples=100, length=T, width=64, head_size=8),
    ):
        steps = np.diff([capacity(T) for T in lengths])
        np.testing.assert_allclose(steps, steps[0])
    dense = [covering.dense_capacity([DenseNorms(1, 1)] * 2, math.sqrt(T), samples=100, width=64) for T in lengths]
    np.testing.assert_allclose(np.diff(np.log(dense)), math.log(4))


def test_perceptron_capacity_by_hand():
    found = covering.dense_capacity([DenseNorms(8, 1), DenseNorms(2, 2)], 3.0, samples=10, width=7, lipschitz=0.5)
    assert found == pytest.approx(9 * 4 * 0.25 * (4 + 1) ** 3 * math.log(70))
    assert covering.dense_capacity([DenseNorms(0, 0)], 1.0, samples=10, width=7) == 0.0


def test_generalisation_by_hand_and_monotone():
    risk = covering.Risk(outputs=2.0, lipschitz=3.0, loss=5.0, delta=0.1, constant=10.0)
    expected = 4 * 10 * 3 * 0.1 * (1 + math.log(20)) + 10 * math.sqrt(math.log(10) / 800)
    assert covering.generalisation_gap(4.0, 400, risk) == pytest.approx(expected)
    gaps = [covering.generalisation_gap(c, 1000) for c in (0.0, 1e-3, 1.0, 50.0, 1000.0, 1e6)]
    assert all(second >= first for first, second in itertools.pairwise(gaps))
    falling = [covering.generalisation_gap(10.0, m) for m in (10, 100, 1e4, 1e6)]
    assert all(second < first for first, second in itertools.pairwise(falling))


def test_samples_until_a_bound_says_something():
    def capacity(m):
        return covering.head_capacity(UNIT, 1.0, samples=m, length=50, width=64)

    m = covering.samples_until(capacity, 0.5)
    assert covering.generalisation_gap(capacity(m), m) == pytest.approx(0.5, rel=1e-6)
    assert m > 1e6
    assert math.isinf(covering.samples_until(lambda m: 1e70, 0.5))


def test_a_network_of_one_block_has_the_norms_of_its_matrices():
    arch = specht.Architecture(vocab=2, length=4, attention="softmax", activation="relu")
    network = specht.nn.Network.init(arch, specht.nn.Size(6, 1, 3), key=jax.random.key(0))
    block = network.blocks[0]
    q, k, v, o, w = (
        getattr(block, name).scale * np.asarray(getattr(block, name).raw) for name in ("query", "key", "value", "output", "dense")
    )
    head = HeadNorms.of(v[0] @ o[0] @ w, q[0] @ k[0].T / math.sqrt(3))
    tokens = network.embedding.scale * np.asarray(network.embedding.raw)
    longest = max(np.linalg.norm(t + p) for t in tokens for p in network.position.scale * np.asarray(network.position.raw))
    readout = spectral(network.readout.scale * np.asarray(network.readout.raw))
    bound = networks.network_bound(network)
    assert bound.theorem == "corollary 4.5"
    expected = covering.head_capacity(head, longest, samples=70, length=5, width=6, lipschitz=readout, query_norm=longest)
    assert bound.capacity(70) == pytest.approx(expected, rel=1e-5)
    assert bound.gap(1e4) > 1
    assert bound.samples() > 1e4


def test_stacks_and_several_heads():
    arch = specht.Architecture(vocab=2, length=4, attention="softmax", activation="gelu", depth=2, norm="pre", residual=True)
    bound = networks.network_bound(specht.nn.Network.init(arch, specht.nn.Size(6, 1, 3), key=jax.random.key(0)))
    assert bound.theorem == "theorem A.17"
    assert bound.samples() > 1e6
    network = specht.nn.Network.init(arch, specht.nn.Size(6, 1, 3), key=jax.random.key(0))
    layers = []
    for block in network.blocks:
        q, k, v, o, w = (
            getattr(block, name).scale * np.asarray(getattr(block, name).raw, float)
            for name in ("query", "key", "value", "output", "dense")
        )
        after = w if block.branch is None else w @ (block.branch.scale * np.asarray(block.branch.raw, float))
        norms = LayerNorms.of(math.sqrt(6) * v[0] @ o[0] @ after, 6 * q[0] @ k[0].T / math.sqrt(3), np.eye(6))
        layers.append(dataclasses.replace(norms, mix_21=0.0))  # the identity is fixed
    readout = math.sqrt(6) * spectral(network.readout.scale * np.asarray(network.readout.raw))
    size = {"samples": 70, "length": 5, "width": 6, "head_size": 3, "lipschitz": 1.13, "residual": True}
    assert bound.capacity(70) == pytest.approx(covering.stack_capacity(layers, readout, **size), rel=1e-5)
    one = specht.Architecture(vocab=2, length=4, attention="softmax")
    assert networks.network_bound(specht.nn.Network.init(one, specht.nn.Size(6, 2, 3), key=jax.random.key(0))).theorem == "lemma A.12"


def test_trained_models_have_bounds():
    model = BitTransformer(8, width=8, heads=2)
    params = model.init(np.random.default_rng(0))
    small = networks.transformer_bound(model, params)
    large = networks.transformer_bound(model, params | {"value": 3.0 * params["value"]})
    assert large.factor > small.factor > 0
    query, key, value = (params[name].astype(float).reshape(8, 2, 4) for name in ("query", "key", "value"))
    output = params["output"].astype(float).reshape(2, 4, 8)
    heads = [HeadNorms.of(value[:, i] @ output[i], query[:, i] @ key[:, i].T / 2) for i in range(2)]
    after = (1 + 1.13 * spectral(params["up"]) * spectral(params["down"])) * spectral(params["readout"])
    expected = covering.head_capacity(heads, math.sqrt(8), samples=70, length=9, width=8, lipschitz=after, query_norm=math.sqrt(8))
    assert small.capacity(70) == pytest.approx(expected, rel=1e-5)
    assert networks.LOGISTIC.loss == pytest.approx(-math.log(1 / (1 + math.exp(2))))  # logits -1 and 1, the wrong way round
    dense = networks.perceptron_bound(Perceptron(8, 5).init(np.random.default_rng(0)), 8)
    assert dense.samples() > 1e4
    assert dense.theorem.startswith("fully connected")


ARCH = {"vocab": 2, "length": 4}
BAD = {
    "negative": (lambda: HeadNorms(1, -1, 1), "value must be a finite number of at least 0, got -1."),
    "version": (lambda: covering.head_capacity(UNIT, 1.0, **SIZE, version="exat"), "Unknown version 'exat': did you mean 'exact'?"),
    "no heads": (lambda: covering.head_capacity([], 1.0, **SIZE), "There are no heads, so there is no bound"),
    "no layers": (lambda: covering.dense_capacity([], 1.0, samples=10, width=3), "There are no layers, so there is no bound"),
    "resolution": (lambda: covering.linear_cover(1, 1, 0.0, 5, 3), "epsilon must be a finite number above 0, got 0.0."),
    "target": (lambda: covering.samples_until(lambda m: 1.0, 0.0), "target must be a finite number above 0, got 0.0."),
    "delta": (lambda: covering.Risk(delta=1.0), "delta must be a finite number above 0 and below 1, got 1.0."),
    "positions twice": (lambda: representation.trained_positions_head(5, [1, 1], 0.3), "Positions must be different and at least one"),
    "position": (lambda: representation.trained_positions_head(5, [7], 0.3), "position must be a whole number from 0 to 4, got 7."),
    "gamma": (lambda: representation.trained_positions_head(5, [1], 0.0), "gamma must be a finite number above 0, got 0.0."),
    "lemma": (lambda: representation.norm_bounds("B.9", 3, 10, 0.3), "Norms are stated by lemmas B.2 and B.3, got 'B.9'"),
    "near codes": (
        lambda: representation.fixed_positions_head(np.array([[1.0, 0.9, 0.95], [0.0, 0.1, 0.05]]), [0, 1], 0.3),
        "Some other code is as near to the key as the chosen ones",
    ),
    "linear attention": (
        lambda: networks.network_bound(specht.nn.Network.init(specht.Architecture(**ARCH), specht.nn.Size(4, 1, 2), key=jax.random.key(0))),
        "Bounds are those of softmax attention, and this network has linear attention.",
    ),
    "stack without norm": (
        lambda: networks.network_bound(
            specht.nn.Network.init(
                specht.Architecture(**ARCH, attention="softmax", depth=2), specht.nn.Size(4, 1, 2), key=jax.random.key(0)
            )
        ),
        "bounds of a stack need norm 'pre' or 'post'.",
    ),
    "stack of heads": (
        lambda: networks.network_bound(
            specht.nn.Network.init(
                specht.Architecture(**ARCH, attention="softmax", depth=2, norm="pre"), specht.nn.Size(4, 2, 2), key=jax.random.key(0)
            )
        ),
        "Theorem A.17 is about one head a layer, and this stack has several",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_a_sentence(case):
    call, sentence = BAD[case]
    with pytest.raises(InputError) as error:
        call()
    assert sentence in str(error.value)
