"""Before training: hidden states of nearby positions look alike, as nearly uniform causal attention makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.breaking_symmetry import sources
from specht.papers.claims import Claim, Experiment, Result, Results, Scale, Verdict, holds_if
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{sources.PACKAGE}.initial"
VOCAB, WIDTH, HEADS = 1000, 128, 4
SMALL = 0.02
"""Standard deviation of the weights of many language models at the start."""


def measure_similarity(
    causal: bool, residual: bool, deviation: float, positions: int, depth: int, sequences: int, networks: int, seed: int
) -> xarray.Dataset:
    """Cosines of hidden states at all pairs of positions of random networks on random tokens, and what they tell.

    States are those of the stream (`layer` 0 is the embedding) and what each attention hands on (`attention` 1 to the depth). Scores have
    one value a network.
    """
    import equinox as eqx
    import jax

    import specht
    from specht.nn.network import Network
    from specht.probes import similarity

    fields: Any = {"positions": "none", "norm": "pre", "readout": "last"}
    arch = specht.Architecture(
        vocab=VOCAB, length=positions - 1, attention="softmax", activation="gelu", causal=causal, residual=residual, depth=depth, **fields
    )
    x = np.random.default_rng([seed, 2]).integers(VOCAB, size=(sequences, positions))
    found: dict[str, list[Any]] = {
        name: [] for name in ("stream", "attention", "stream_mean", "attention_mean", "probe_cosine", "probe_size")
    }
    cosines, stream_cosines, sizes, ratios = [], [], [], []
    states_of = eqx.filter_jit(lambda net, x: (net.streams(x), net.attended(x)))
    with jax.enable_x64(True):
        for number in range(networks):
            size = specht.nn.Size(WIDTH, HEADS, WIDTH // HEADS)
            net = Network.init(arch, size, key=jax.random.key(seed + number), deviation=deviation).in_double()
            streams, attended = states_of(net, x)
            for kind, states in (("stream", streams), ("attention", attended)):
                each = [similarity.self_cosines(state) for state in states]
                found[kind].append([similarity.adjacency_score(one) for one in each])
                found[f"{kind}_mean"].append([similarity.adjacency_score(one.mean(axis=0)) for one in each])
                if kind == "attention":
                    found["probe_cosine"].append([similarity.position_probe(similarity.rows_without_self(one)) for one in each])
                    found["probe_size"].append([similarity.position_probe(similarity.size_features(state)) for state in states])
                    cosines.append(each[0].mean(axis=0))
            own, first = np.asarray(streams[0]), np.asarray(attended[0])
            stream_cosines.append(similarity.self_cosines(own + first).mean(axis=0))
            sizes.append((first**2).sum(axis=-1).mean(axis=0))
            ratios.append((own**2).sum(axis=-1).mean() / (first[:, 0] ** 2).sum(axis=-1).mean())
    scores = {name: (("network", "layer" if name.startswith("stream") else "block"), np.array(values)) for name, values in found.items()}
    return common.record(
        "similarity",
        scores
        | {"cosines": (("i", "j"), np.mean(cosines, axis=0)), "residual_cosines": (("i", "j"), np.mean(stream_cosines, axis=0))}
        | {"sizes": (("i",), np.mean(sizes, axis=0)), "ratio": float(np.mean(ratios))},
    )


def jobs(scale: Scale) -> list[Job]:
    """Causal and not, with residual sums and without, at several deviations of the weights."""
    positions, depth, sequences, networks = common.at_scale(scale, smoke=(8, 2, 8, 2), quick=(32, 2, 48, 4), full=(32, 6, 64, 8))
    cases = [(True, True, SMALL), (True, False, SMALL), (False, True, SMALL), (False, False, SMALL)]
    cases += common.at_scale(scale, smoke=[], quick=[(True, True, 0.1), (True, True, 0.3)], full=[(True, True, 0.1), (True, True, 0.3)])
    return [
        Job.of(
            f"{_HERE}:measure_similarity",
            causal=causal,
            residual=residual,
            deviation=deviation,
            positions=positions,
            depth=depth,
            sequences=sequences,
            networks=networks,
            seed=0,
        )
        for causal, residual, deviation in cases
    ]


def _only(results: Results, causal: bool, residual: bool, deviation: float = SMALL) -> Result:
    (found,) = common.chosen(results, "similarity", causal=causal, residual=residual, deviation=deviation)
    return found


def _regime(result: Result) -> str:
    given = result.arguments
    return (
        f"{given['networks']} random networks of depth {given['depth']}, width {WIDTH}, {HEADS} heads, norm before each branch, weights of "
        f"deviation {given['deviation']:g}, {given['sequences']} sequences of {given['positions']} random tokens out of {VOCAB}."
    )


def expected(result: Result) -> np.ndarray:
    """The closed form for what the first attention hands on."""
    from specht.probes.similarity import uniform_cosines

    return uniform_cosines(result.arguments["positions"])


def expected_with_residual(result: Result) -> np.ndarray:
    """The closed form for the sum of stream and attention, given how large the stream is."""
    from specht.probes.similarity import uniform_cosines

    return uniform_cosines(result.arguments["positions"], residual=float(result.data["ratio"]))


def _pairs(matrix: np.ndarray) -> np.ndarray:
    """Entries off the diagonal, where every cosine is one."""
    return matrix[np.triu_indices(len(matrix), 1)]


def judge_closed_form(results: Results) -> Verdict:
    worst, least = 0.0, 1.0
    for residual in (True, False):
        found = _only(results, True, residual)
        measured, theory = _pairs(found.data["cosines"].values), _pairs(expected(found))
        worst = max(worst, float(np.abs(measured - theory).max()))
        least = min(least, float(np.corrcoef(measured, theory)[0, 1]))
    words = f"{_regime(_only(results, True, True))} Largest deviation of any pair; correlation {least:.4f}."
    large = [result for result in common.chosen(results, "similarity", causal=True) if result.arguments["deviation"] > SMALL]
    for result in large:
        off = np.abs(_pairs(result.data["cosines"].values) - _pairs(expected(result))).max()
        words += f" At deviation {result.arguments['deviation']:g} attention is not uniform, and the deviation is {off:.2f}."
    return holds_if(worst < 0.05 and least > 0.99, worst, regime=words)


def judge_sizes(results: Results) -> Verdict:
    found = _only(results, True, True)
    sizes = found.data["sizes"].values
    off = float(np.abs(sizes / sizes[0] * np.arange(1, len(sizes) + 1) - 1.0).max())
    return holds_if(off < 0.1, off, regime=f"{_regime(found)} Largest relative deviation of the mean square from 1/i.")


def judge_with_residual(results: Results) -> Verdict:
    found = _only(results, True, True)
    measured, theory = _pairs(found.data["residual_cosines"].values), _pairs(expected_with_residual(found))
    off, alike = float(np.abs(measured - theory).max()), float(np.corrcoef(measured, theory)[0, 1])
    words = f"{_regime(found)} Stream over value {float(found.data['ratio']):.2g} in squares; correlation {alike:.3f}."
    return holds_if(off < 0.05, off, regime=words)


def _score(result: Result, name: str, place: slice) -> tuple[float, float]:
    """Mean over networks and layers, and its standard error over networks."""
    values = result.data[name].values[:, place].mean(axis=1)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def judge_adjacency(results: Results) -> Verdict:
    found = [_only(results, True, residual) for residual in (True, False)]
    scores = [_score(result, "attention", slice(block, block + 1)) for result in found for block in range(_depth(result))]
    least = min(scores, key=lambda score: score[0])
    return holds_if(least[0] > 0.9, *least, regime=f"{_regime(found[0])} The lowest of any attention, with and without residual sums.")


def _depth(result: Result) -> int:
    return result.arguments["depth"]


def judge_chance(results: Results) -> Verdict:
    found = [_only(results, False, residual) for residual in (True, False)]
    values = [_score(result, name, slice(place, place + 1)) for result in found for name, place in _places(result)]
    inputs = [_score(_only(results, True, residual), "stream", slice(0, 1)) for residual in (True, False)]
    worst = max([*values, *inputs], key=lambda value: abs(value[0] - 0.5))
    words = f"{_regime(found[0])} The value farthest from one half, of all layers without a mask and of the input layer with one."
    return holds_if(abs(worst[0] - 0.5) <= 0.02, *worst, regime=words)


def _places(result: Result) -> list[tuple[str, int]]:
    return [("stream", layer) for layer in range(_depth(result) + 1)] + [("attention", block) for block in range(_depth(result))]


def judge_depth(results: Results) -> Verdict:
    found = _only(results, True, True)
    values = found.data["stream"].values
    rises = np.diff(values, axis=1)
    means, errors = rises.mean(axis=0), rises.std(axis=0, ddof=1) / np.sqrt(len(rises))
    lowest = int(np.argmin(means))
    path = ", ".join(f"{value:.2f}" for value in values.mean(axis=0))
    words = f"{_regime(found)} Scores of the stream from the embedding on: {path}; the smallest rise is shown."
    return holds_if(
        bool((means > -3.0 * errors).all() and values[:, -1].mean() > values[:, 1].mean()), means[lowest], errors[lowest], words
    )


def judge_probe(results: Results) -> Verdict:
    found = [_only(results, True, residual) for residual in (True, False)]
    gains = np.array([result.data["probe_cosine"].values - result.data["probe_size"].values for result in found])
    by_block, gain = gains.mean(axis=1).ravel(), gains.mean(axis=(0, 2))  # one number a network: its first attention is the same in both
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    cosine, size = (np.mean([result.data[name].values.mean() for result in found]) for name in ("probe_cosine", "probe_size"))
    words = (
        f"{_regime(found[0])} R² {cosine:.2f} from cosines and {size:.2f} from sizes on average; the difference is shown. By block it runs "
        f"from {by_block.min():.2f} to {by_block.max():.2f}."
    )
    return holds_if(bool(gain.mean() > 2.0 * error), gain.mean(), error, words)


def plots(results: Results) -> list[Plot]:
    found = _only(results, True, True)
    measured, theory = found.data["cosines"].values, expected(found)
    return [_heat_map(measured), _closed_form(measured, theory, found), _by_layer(results)]


def _heat_map(measured: np.ndarray) -> Plot:
    places = list(range(1, len(measured) + 1))
    figure = go.Figure(
        go.Heatmap(
            z=measured.round(4).tolist(),
            x=places,
            y=places,
            zmin=0,
            zmax=1,
            colorscale="Viridis",
            colorbar={"thickness": 10, "outlinewidth": 0},
            hovertemplate="positions %{y} and %{x}: %{z:.3f}<extra></extra>",
        )
    )
    common.finished(figure, x="position", y="position", linear_y=True)
    figure.update_layout(showlegend=False)
    figure.update_xaxes(type="linear", dtick=None, constrain="domain", showgrid=False)
    figure.update_yaxes(autorange="reversed", scaleanchor="x", constrain="domain", showgrid=False)
    caption = "Mean cosine of what the first causal attention of random networks hands on at two positions. Neighbours are alike."
    return Plot(figure, "Self-cosines at the start", caption)


def _closed_form(measured: np.ndarray, theory: np.ndarray, found: Result) -> Plot:
    figure = go.Figure()
    common.add_guide(figure, [0, 1], [0, 1], "equal")
    common.add_scatter(figure, _pairs(theory), _pairs(measured), "attention", 0)
    common.add_scatter(
        figure, _pairs(expected_with_residual(found)), _pairs(found.data["residual_cosines"].values), "attention + stream", 1
    )
    common.finished(figure, x="closed form", y="measured cosine", linear_y=True)
    figure.update_xaxes(type="linear")
    return Plot(figure, "Uniform attention in closed form", "Each point is a pair of positions.")


def _by_layer(results: Results) -> Plot:
    figure = go.Figure()
    cases = {"causal, residual": (True, True), "causal": (True, False), "no mask, residual": (False, True), "no mask": (False, False)}
    for number, (name, (causal, residual)) in enumerate(cases.items()):
        found = _only(results, causal, residual)
        for kind, suffix in (("stream", ""), ("attention", ", attention")):
            values = found.data[kind].values
            first = 0 if kind == "stream" else 1
            layers = list(range(first, first + values.shape[1]))
            errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
            if kind == "stream":
                common.add_points(figure, layers, values.mean(axis=0), name + suffix, number, errors=errors, joined=True)
            else:
                common.add_line(figure, layers, values.mean(axis=0), name + suffix, number, dash="dot")
    common.finished(figure, x="layer", y="adjacency score", linear_y=True)
    figure.update_xaxes(type="linear", dtick=1)
    figure.update_yaxes(range=[0.35, 1.05])
    caption = "How often the nearer of two positions looks more alike, in each sequence; one half is chance. Layer 0 is the embedding."
    return Plot(figure, "Position emerges layer by layer", caption, wide=True)


def tables(results: Results) -> list[Table]:
    rows = []
    for result in common.chosen(results, "similarity"):
        given, data = result.arguments, result.data
        off = np.abs(_pairs(data["cosines"].values) - _pairs(expected(result))).max()
        names = ("stream", "attention", "stream_mean")
        scores = [" ".join(f"{value:.2f}" for value in data[name].values.mean(axis=0)) for name in names]
        probes = f"{data['probe_cosine'].values.mean():.2f} / {data['probe_size'].values.mean():.2f}"
        name = f"{given['deviation']:g}, {'causal' if given['causal'] else 'no mask'}{', residual' if given['residual'] else ''}"
        rows.append([name, f"{off:.3f}", *scores, probes])
    header = ("weights", "off the closed form", "scores of the stream", "of attention", "of mean cosines", "probe: cosines / sizes")
    note = (
        "Adjacency scores from the embedding on, in each sequence, and of the cosines averaged over sequences. Probes: R² of the position "
        "read off a row of cosines, without its own, or off norm and variance."
    )
    return [Table(header, rows, note, "Random networks")]


EXPERIMENT = Experiment(
    name="breaking.initial",
    title="Similarity of nearby positions before training",
    shown=(
        "Follow-up: nearby embeddings are more similar, before training too, except in the input layer; the first causal attention makes "
        "the pattern, and cosines predict the position better than the variance of an embedding does."
    ),
    claims=(
        Claim(
            "breaking.closed-form",
            "At the start causal attention hands on states whose cosine is the root of the smaller over the larger position.",
            sources.CLOSED_FORM,
            "largest deviation below 0.05 and correlation above 0.99 over all pairs, at weights of deviation 0.02",
            judge_closed_form,
        ),
        Claim(
            "breaking.sizes",
            "Their mean square falls as one over the position.",
            sources.CLOSED_FORM,
            "within 10 % of 1/i at every position",
            judge_sizes,
        ),
        Claim(
            "breaking.closed-form-residual",
            "Added to the stream, they make cosines of (s²/max)/√((r² + s²/i)(r² + s²/j)), which hardly depend on the nearer position.",
            sources.CLOSED_FORM,
            "largest deviation below 0.05 over all pairs, with r²/s² measured",
            judge_with_residual,
        ),
        Claim(
            "breaking.adjacency",
            "What causal attention hands on is more alike at nearby positions, before any training.",
            sources.FOLLOW_UP,
            "adjacency score of every attention above 0.9 at deviation 0.02, with and without residual sums",
            judge_adjacency,
        ),
        Claim(
            "breaking.chance",
            "Without a mask, and in the input layer, nearby positions are no more alike than others.",
            sources.FOLLOW_UP,
            "adjacency score 0.50 ± 0.02 in every such layer",
            judge_chance,
        ),
        Claim(
            "breaking.depth",
            "The score rises from layer to layer.",
            sources.FOLLOW_UP,
            "no layer of a causal residual stream falls by more than 3 standard errors, and the last lies above the first",
            judge_depth,
        ),
        Claim(
            "breaking.probe",
            "Cosines with the other positions tell the position better than the size of a state does.",
            sources.FOLLOW_UP,
            "R² of a ridge probe on cosine rows above that on norm and variance by two standard errors, on average over attentions",
            judge_probe,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step("Random networks in float64 read random tokens; cosines are taken within each sequence.", ("c_ij = cos(h_i, h_j)",)),
        Step(
            "Small weights make attention nearly uniform, so that a position hands on the mean of all values up to it.",
            ("cos(o_i, o_j) = √(min(i,j) / max(i,j))", "|o_i|² = s² / i"),
        ),
        Step("A cosine row has its own entry, always one, left out: it would give the position away in any layer, the input included."),
    ),
)
