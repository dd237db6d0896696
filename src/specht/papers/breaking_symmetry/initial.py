"""Before training: hidden states of nearby positions look alike, as nearly uniform causal attention makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

import specht
from specht import nn, probes
from specht.papers import Finding, above, below, both, common, every, grid, larger, measure, near, positive
from specht.report import Plot, Table, add_guide, add_line, add_points, add_scatter, finished, image, table

VOCAB, WIDTH, HEADS = 1000, 128, 4
SMALL = 0.02
"""Standard deviation of the weights of many language models at the start."""
_CASES = grid(causal=[True, False], residual=[True, False], deviation=SMALL)
_LARGER = grid(causal=True, residual=True, deviation=[0.1, 0.3])


@measure(
    smoke=_CASES * grid(positions=8, depth=2, sequences=8, networks=2, seed=0),
    quick=(_CASES + _LARGER) * grid(positions=32, depth=2, sequences=48, networks=4, seed=0),
    full=(_CASES + _LARGER) * grid(positions=32, depth=6, sequences=64, networks=8, seed=0),
)
def measure_similarity(
    causal: bool, residual: bool, deviation: float, positions: int, depth: int, sequences: int, networks: int, seed: int
) -> xarray.Dataset:
    """Cosines of hidden states at all pairs of positions of random networks on random tokens, and what they tell.

    States are those of the stream (`layer` 0 is the embedding) and what each attention hands on (`attention` 1 to the depth). Scores have
    one value a network.
    """
    import equinox as eqx
    import jax

    fields: Any = {"positions": "none", "norm": "pre", "readout": "last"}
    arch = specht.Architecture(
        vocab=VOCAB, length=positions - 1, attention="softmax", activation="gelu", causal=causal, residual=residual, depth=depth, **fields
    )
    x = np.random.default_rng([seed, 2]).integers(VOCAB, size=(sequences, positions))
    size, rows = nn.Size(WIDTH, HEADS, WIDTH // HEADS), []
    states_of = eqx.filter_jit(lambda net, x: (net.streams(x), net.attended(x)))
    with jax.enable_x64(True):
        for number in range(networks):
            net = nn.Network.init(arch, size, key=jax.random.key(seed + number), deviation=deviation).in_double()
            states = dict(zip(("stream", "attention"), states_of(net, x), strict=True))
            cosines = {kind: [probes.self_cosines(state) for state in layers] for kind, layers in states.items()}
            own, first = (np.asarray(layers[0]) for layers in states.values())
            row = {kind: [probes.adjacency_score(one) for one in layers] for kind, layers in cosines.items()}
            row |= {f"{kind}_mean": [probes.adjacency_score(one.mean(axis=0)) for one in layers] for kind, layers in cosines.items()}
            row["probe_cosine"] = [probes.position_probe(probes.rows_without_self(one)) for one in cosines["attention"]]
            row["probe_size"] = [probes.position_probe(probes.size_features(state)) for state in states["attention"]]
            means = {
                "cosines": cosines["attention"][0].mean(axis=0),
                "residual_cosines": probes.self_cosines(own + first).mean(axis=0),
                "sizes": (first**2).sum(axis=-1).mean(axis=0),
                "ratio": (own**2).sum(axis=-1).mean() / (first[:, 0] ** 2).sum(axis=-1).mean(),
            }
            rows.append((row, means))
    scores = {name: np.array([row[name] for row, _ in rows]) for name in rows[0][0]}
    averages = {name: np.mean([means[name] for _, means in rows], axis=0) for name in rows[0][1]}
    return xarray.Dataset(
        {name: (("network", "layer" if name.startswith("stream") else "block"), values) for name, values in scores.items()}
        | {name: (("i", "j")[: values.ndim], values) for name, values in averages.items()}
    )


def only(data: xarray.Dataset, causal: bool, residual: bool, deviation: float = SMALL) -> xarray.Dataset:
    """The networks of one kind."""
    return data.sel(causal=causal, residual=residual, deviation=deviation)


def _regime(data: xarray.Dataset) -> str:
    return (
        f"{data.networks} random networks of depth {data.depth}, width {WIDTH}, {HEADS} heads, norm before each branch, weights of "
        f"deviation {SMALL:g}, {data.sequences} sequences of {data.positions} random tokens out of {VOCAB}."
    )


def _attended(kind: xarray.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Cosines of what the first attention hands on, as measured and in closed form, pair by pair."""
    return _pairs(kind["cosines"].values), _pairs(probes.uniform_cosines(kind.positions))


def _attended_with_stream(kind: xarray.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The same for the sum of stream and attention, given how large the stream is."""
    return _pairs(kind["residual_cosines"].values), _pairs(probes.uniform_cosines(kind.positions, residual=float(kind["ratio"])))


def _pairs(matrix: np.ndarray) -> np.ndarray:
    """Entries off the diagonal, where every cosine is one."""
    return matrix[np.triu_indices(len(matrix), 1)]


def _deviation(kind: xarray.Dataset) -> float:
    """The largest deviation of any pair from the closed form."""
    measured, theory = _attended(kind)
    return float(np.abs(measured - theory).max())


OFF = below(0.05, "largest deviation of any pair")


@measure_similarity.claim(
    "closed-form", both(OFF, above(0.99, "correlation over all pairs", where=f"at weights of deviation {SMALL:g}")), null=(1.0, 0.0)
)
def deviation_from_closed_form(data: xarray.Dataset) -> tuple[Finding, float]:
    kinds = [only(data, True, residual) for residual in (True, False)]
    least = min(float(np.corrcoef(*_attended(kind))[0, 1]) for kind in kinds)
    words = f"{_regime(data)} Largest deviation of any pair; correlation {least:.4f}."
    for deviation in data["deviation"].values[data["deviation"].values > SMALL]:
        off = _deviation(only(data, True, True, deviation))
        words += f" At deviation {deviation:g} attention is not uniform, and the deviation is {off:.2f}."
    return Finding(max(map(_deviation, kinds)), regime=words), least


@measure_similarity.claim("sizes", below(0.1, "largest relative deviation from 1/i at any position", percent=True), null=1.0)
def deviation_of_sizes(data: xarray.Dataset) -> Finding:
    sizes = only(data, True, True)["sizes"].values
    off = float(np.abs(sizes / sizes[0] * np.arange(1, len(sizes) + 1) - 1.0).max())
    return Finding(off, regime=f"{_regime(data)} Largest relative deviation of the mean square from 1/i.")


@measure_similarity.claim("closed-form-residual", below(0.05, "largest deviation of any pair", where="with r²/s² measured"), null=1.0)
def deviation_with_residual(data: xarray.Dataset) -> Finding:
    kind = only(data, True, True)
    measured, theory = _attended_with_stream(kind)
    alike = float(np.corrcoef(measured, theory)[0, 1])
    words = f"{_regime(data)} Stream over value {float(kind['ratio']):.2g} in squares; correlation {alike:.3f}."
    return Finding(float(np.abs(measured - theory).max()), regime=words)


def _score(kind: xarray.Dataset, name: str, place: int, words: str) -> Finding:
    """The score of one layer: mean over networks and its standard error."""
    return common.mean_of(kind[name].values[:, place], words)


@measure_similarity.claim(
    "adjacency",
    every(above(0.9, f"adjacency score at deviation {SMALL:g}"), "for every attention, with and without residual sums"),
    null=0.5,
)
def scores_of_attention(data: xarray.Dataset) -> list[Finding]:
    words = f"{_regime(data)} The lowest of any attention, with and without residual sums."
    return [_score(only(data, True, residual), "attention", block, words) for residual in (True, False) for block in range(data.depth)]


@measure_similarity.claim("chance", every(near(0.5, 0.02, "adjacency score"), "in every such layer"), null=0.9)
def scores_of_layers_without_order(data: xarray.Dataset) -> list[Finding]:
    words = f"{_regime(data)} The value farthest from one half, of all layers without a mask and of the input layer with one."
    layers = [("stream", layer) for layer in range(data.depth + 1)] + [("attention", block) for block in range(data.depth)]
    places = [(False, *layer) for layer in layers] + [(True, "stream", 0)]
    return [_score(only(data, causal, residual), name, place, words) for causal, name, place in places for residual in (True, False)]


@measure_similarity.claim(
    "depth",
    both(
        every(above(0.0, "rise of the score from a layer to the next"), "for every layer of a causal residual stream"),
        positive("that from the first to the last"),
    ),
    null=([0.0], 0.0),
)
def rises_of_the_score(data: xarray.Dataset) -> tuple[list[Finding], float]:
    values = only(data, True, True)["stream"].values
    rises = np.diff(values, axis=1)
    means, errors = rises.mean(axis=0), rises.std(axis=0, ddof=1) / np.sqrt(len(rises))
    lowest = int(np.argmin(means))
    path = ", ".join(f"{value:.2f}" for value in values.mean(axis=0))
    words = f"{_regime(data)} Scores of the stream from the embedding on: {path}; the smallest rise is shown."
    shown = float(means[lowest]), float(errors[lowest])
    findings = [Finding(mean, error, words, shown=shown) for mean, error in zip(means, errors, strict=True)]
    return findings, float(values[:, -1].mean() - values[:, 1].mean())


@measure_similarity.claim(
    "probe",
    larger("R² of a ridge probe on cosine rows", than="that on norm and variance", where="on average over attentions"),
    null=0.0,
)
def gain_of_the_probe(data: xarray.Dataset) -> Finding:
    kinds = [only(data, True, residual) for residual in (True, False)]
    probes = {name: np.array([kind[f"probe_{name}"].values for kind in kinds]) for name in ("cosine", "size")}
    gains = probes["cosine"] - probes["size"]
    by_block, gain = gains.mean(axis=1).ravel(), gains.mean(axis=(0, 2))  # one number a network: its first attention is the same in both
    words = (
        f"{_regime(data)} R² {probes['cosine'].mean():.2f} from cosines and {probes['size'].mean():.2f} from sizes on average; the "
        f"difference is shown. By block it runs from {by_block.min():.2f} to {by_block.max():.2f}."
    )
    return common.mean_of(gain, words)


@measure_similarity.figure()
def similarities(data: xarray.Dataset) -> list[Plot]:
    kind = only(data, True, True)
    return [_heat_map(kind["cosines"].values), _closed_form(kind), _by_layer(data)]


def _heat_map(measured: np.ndarray) -> Plot:
    places = list(range(1, len(measured) + 1))
    figure = image(measured.round(4).tolist(), hover="positions %{y} and %{x}: %{z:.3f}", x=places, y=places, zmin=0, zmax=1)
    finished(figure, x="position", y="position", linear_y=True)
    figure.update_layout(showlegend=False)
    figure.update_xaxes(type="linear", dtick=None, constrain="domain", showgrid=False)
    figure.update_yaxes(autorange="reversed", scaleanchor="x", constrain="domain", showgrid=False)
    caption = "Mean cosine of what the first causal attention of random networks hands on at two positions. Neighbours are alike."
    return Plot(figure, "Self-cosines at the start", caption)


def _closed_form(kind: xarray.Dataset) -> Plot:
    figure = go.Figure()
    add_guide(figure, [0, 1], [0, 1], "equal")
    for number, (name, cosines) in enumerate({"attention": _attended(kind), "attention + stream": _attended_with_stream(kind)}.items()):
        measured, theory = cosines
        add_scatter(figure, theory, measured, name, number)
    finished(figure, x="closed form", y="measured cosine", linear_y=True)
    figure.update_xaxes(type="linear")
    return Plot(figure, "Uniform attention in closed form", "Each point is a pair of positions.")


def _by_layer(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    cases = {"causal, residual": (True, True), "causal": (True, False), "no mask, residual": (False, True), "no mask": (False, False)}
    for number, (name, (causal, residual)) in enumerate(cases.items()):
        kind = only(data, causal, residual)
        mean, error = common.mean_and_error(kind["stream"], "network")
        add_points(figure, range(len(mean)), mean.values, name, number, errors=error.values, joined=True)
        attention = kind["attention"].mean("network").values
        add_line(figure, range(1, 1 + len(attention)), attention, f"{name}, attention", number, dash="dot")
    finished(figure, x="layer", y="adjacency score", linear_y=True)
    figure.update_xaxes(type="linear", dtick=1)
    figure.update_yaxes(range=[0.35, 1.05])
    caption = "How often the nearer of two positions looks more alike, in each sequence; one half is chance. Layer 0 is the embedding."
    return Plot(figure, "Position emerges layer by layer", caption, wide=True)


@measure_similarity.table()
def random_networks(data: xarray.Dataset) -> Table:
    def scores(name: str) -> Any:
        return lambda kind: " ".join(f"{value:.2f}" for value in kind[name].values.mean(axis=0))

    def name(kind: xarray.Dataset) -> str:
        return f"{float(kind.deviation):g}, {'causal' if kind.causal else 'no mask'}{', residual' if kind.residual else ''}"

    columns = {
        "weights": name,
        "off the closed form": lambda kind: f"{_deviation(kind):.3f}",
        "scores of the stream": scores("stream"),
        "of attention": scores("attention"),
        "of mean cosines": scores("stream_mean"),
        "probe: cosines / sizes": lambda kind: f"{kind['probe_cosine'].values.mean():.2f} / {kind['probe_size'].values.mean():.2f}",
    }
    note = (
        "Adjacency scores from the embedding on, in each sequence, and of the cosines averaged over sequences. Probes: R² of the position "
        "read off a row of cosines, without its own, or off norm and variance."
    )
    causal_first = data.sortby(["causal", "residual"], ascending=False)
    return table(causal_first, columns, rows=("deviation", "causal", "residual"), note=note, title="Random networks")
