"""Lemmas 4.3 and 4.6 and theorem 4.2 on random heads: how far they move and how many can be told apart, beside the bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.papers import Finding, above, at_most, common, every, grid, measure, near, points
from specht.report import Plot, Table, add_guide, add_line, table
from specht.studies.sparse import bounds

WIDTH = 3
"""Of tokens and outputs of random heads."""
DECADES = 1.5
"""Powers of ten by which norms and scores of random heads differ from one, up and down."""
SCORES = "scores"
CHANGES = (SCORES, "values", "scores and values")
SLOPES = {
    "steepest": "largest Lipschitz constant that a search finds",
    "slope": "largest of random heads",
    "typical_slope": "median of random heads",
}
WRONG = {"without B_X": (0, 1), "with B_X squared": (2, 1), "without ‖W_V‖": (1, 0), "with ‖W_V‖ squared": (1, 2)}
"""Bounds of lemma 4.3 that are false: the powers of the two norms in it."""
RESOLUTIONS = (0.05, 0.1, 0.2, 0.4)
"""At which functions are told apart, in units of the largest output that norms allow."""
FINEST = RESOLUTIONS[0]
"""The resolution at which bounds with a wrong norm are judged."""
_NONE = 1e-9
"""Stands for the ratio where nothing is told apart, which has no logarithm."""
UP, DOWN = 1e5, 1e-5
"""What norms are scaled by where a bound with a wrong power of them is tried."""
TRIES = 400
"""Steps of each search for the head that moves most."""
ROUNDING = 1e-9
"""Relative."""
FAMILIES = {"linear": "maps of norm B_W (lemma 4.6)", "head": "heads (theorem 4.2)", "keys": "heads with a known W_V (theorem 4.2)"}


@measure(
    smoke=grid(length=[2, 4, 16], heads=100, seed=0),
    quick=grid(length=[2, 4, 16, 64], heads=1000, seed=0),
    full=grid(length=[2, 4, 16, 64, 256], heads=1000, seed=0),
)
def measure_change(length: int, heads: int, seed: int) -> xarray.Dataset:
    """How far random heads move when scores and values change, over the bound of lemma 4.3: the largest of all, by what changes.

    Tokens, values and scores have norms that differ by powers of ten. Scores change in the direction that moves the head most.
    """
    rng = np.random.default_rng([seed, length])
    ratios, slopes, wrong = np.zeros((heads, 3)), np.zeros(heads), np.zeros((heads, len(WRONG)))
    for head in range(heads):
        b_x, b_v, strength, size, share = 10.0 ** rng.uniform(-DECADES, DECADES, 5)
        tokens = rng.standard_normal((length, WIDTH))
        tokens *= b_x / np.linalg.norm(tokens, axis=1, keepdims=True)
        value = rng.standard_normal((WIDTH, WIDTH))
        value *= b_v / np.linalg.norm(value, 2)
        other = value + share * b_v * rng.standard_normal((WIDTH, WIDTH))
        scores = strength * rng.standard_normal(length)
        slope, signs = bounds.steepest_change(tokens, scores, value, starts=4, seed=head)
        inner = float(np.linalg.norm(tokens @ (other - value), axis=1).max())
        before = bounds.attend(tokens, scores, value)
        both = bounds.attend(tokens, scores + size * signs, other)
        moved = [bounds.attend(tokens, scores + size * signs, value), bounds.attend(tokens, scores, other), both]
        moved = np.linalg.norm(np.array(moved) - before, axis=1)
        stated = [bounds.head_change(*change, b_x, b_in=b_v) for change in ((size, 0.0), (0.0, inner), (size, inner))]
        ratios[head] = moved / stated
        slopes[head] = slope / (b_x * b_v)
        wrong[head] = [moved[0] / bounds.head_change(size, 0.0, b_x**p, b_in=b_v**q) for p, q in WRONG.values()]
    return xarray.Dataset(
        {
            "ratio": ("change", ratios.max(axis=0)),
            "beyond": ("change", (ratios > 1.0 + ROUNDING).mean(axis=0)),
            "typical": ("change", np.median(ratios, axis=0)),
            "slope": slopes.max() / bounds.SOFTMAX,
            "typical_slope": float(np.median(slopes)) / bounds.SOFTMAX,
            "steepest": max(_steepest(length, rng) for _ in range(3)) / bounds.SOFTMAX,
            "wrong": ("norm", wrong.max(axis=0)),
        },
        {"change": list(CHANGES), "norm": list(WRONG)},
    )


def _steepest(length: int, rng: np.random.Generator) -> float:
    """The largest Lipschitz constant in the scores that a search finds, of heads with tokens and values of norm one: random changes of
    tokens and scores are kept where it rises."""
    tokens, scores, best = rng.standard_normal((length, WIDTH)), rng.standard_normal(length), 0.0
    for size in np.geomspace(1.0, 0.01, TRIES):
        other = tokens + size * rng.standard_normal(tokens.shape)
        other /= np.linalg.norm(other, axis=1, keepdims=True)
        moved = scores + size * rng.standard_normal(length)
        constant, _ = bounds.steepest_change(other, moved, np.eye(WIDTH), starts=2)
        if constant > best:
            tokens, scores, best = other, moved, constant
    return best


@measure_change.claim("lemma-43", every(at_most(0.0, "share of heads that pass the bound"), "for every change and T"), null=0.1)
def heads_beyond(data: xarray.Dataset) -> dict[Any, Finding]:
    words = f"{_words(data)}; the largest change is {float(data['ratio'].max()):.3f} of its bound."
    return {
        (change, length): Finding(float(data["beyond"].sel(change=change, length=length)), regime=words)
        for change in CHANGES
        for length in data.length.values.tolist()
    }


@measure_change.claim(
    "lemma-43-norms", every(above(1.0, "largest change over a bound with another power of a norm"), "for every norm"), null=0.5
)
def changes_over_wrong_bounds(data: xarray.Dataset) -> dict[str, Finding]:
    words = f"{_words(data)}, bounds without B_X or ‖W_V‖ or with their squares; the one that is passed by least is shown."
    return {name: Finding(float(data["wrong"].sel(norm=name).max()), regime=words) for name in WRONG}


@measure_change.claim(
    "lemma-43-constant",
    near(0.5, 0.02, "largest Lipschitz constant in the scores that a search finds for two tokens, over that of the lemma,"),
    null=1.0,
)
def largest_slope(data: xarray.Dataset) -> Finding:
    found = {T: float(data["steepest"].sel(length=T)) for T in data.length.values.tolist()}
    listed = ", ".join(f"T = {T}: {share:.3f}" for T, share in found.items())
    return Finding(found[2], regime=f"Heads of width {WIDTH}, 3 searches of {TRIES} steps for each T; {listed}.")


@measure_change.claim("lemma-43-length", at_most(0.1, "log-log slope of the largest Lipschitz constant in the scores against T"), null=0.5)
def growth_of_slopes(data: xarray.Dataset) -> Finding:
    slopes = data["slope"]
    shares = ", ".join(f"T = {T}: {float(slopes.sel(length=T)):.2f}" for T in data.length.values.tolist())
    words = f"{_words(data)}. Largest constants over that of the lemma: {shares}."
    return Finding(common.exponent_of(data.length.values, slopes.values).value, regime=words)


def _words(data: xarray.Dataset) -> str:
    powers = f"norms and scores from {10**-DECADES:.2g} to {10**DECADES:.2g}"
    return f"{data.heads} random heads for each T = {common.listed(data.length.values)} of width {WIDTH}, {powers}"


@measure_change.figure()
def change_against_length(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    lengths = data.length.values
    for number, (name, words) in enumerate(SLOPES.items()):
        add_line(figure, lengths, data[name].values, words, number)
    add_line(figure, lengths, data["ratio"].sel(change=CHANGES[2]).values, "largest change of scores and values", len(SLOPES))
    add_guide(figure, lengths, np.ones(len(lengths)), "the bound")
    caption = "Random heads, as shares of the bound of lemma 4.3. No head passes it, and its share does not vanish with the length."
    return common.plotted(figure, "How far heads move", caption, x="number of tokens T", y="share of the bound", ticks=lengths)


@measure_change.table()
def changes_by_kind(data: xarray.Dataset) -> Table:
    columns = {"what changes": "change", "T": "length", "largest share of the bound": "ratio:.3f", "median": "typical:.2g"}
    note = "Changes of heads over the bound of lemma 4.3."
    return table(data[["ratio", "typical"]], columns, rows=["change", "length"], note=note, title="Changes and their bound")


_SIZES = {"width": 4, "samples": 8}
_SAME = points({"family": name, "norm": "none", "scale": 1.0, "length": T} for name, Ts in (("linear", [1]), ("keys", [16])) for T in Ts)
_SCALED = points(
    {"family": family, "norm": norm, "scale": scale, "length": 1 if family == "linear" else 16}
    for family, norms in (("linear", ("tokens", "values")), ("head", ("tokens", "values")), ("keys", ("keys",)))
    for norm in norms
    for scale in ((DOWN,) if norm == "keys" else (UP, DOWN))
)


def _heads(*lengths: int) -> Any:
    return _SAME + points({"family": "head", "norm": "none", "scale": 1.0, "length": T} for T in lengths) + _SCALED


@measure(
    smoke=_heads(4, 16) * grid(functions=100, **_SIZES, seed=0),
    quick=_heads(4, 16, 64) * grid(functions=1000, **_SIZES, seed=0),
    full=_heads(4, 16, 64, 256) * grid(functions=2000, **_SIZES, seed=0),
)
def measure_cover(family: str, norm: str, scale: float, length: int, functions: int, width: int, samples: int, seed: int) -> xarray.Dataset:
    """How many random functions of bounded norm lie pairwise further apart than twice a resolution, so that each needs an element of its
    own in a cover at that resolution; the bound of the logarithm; and that with a wrong power of the norm that is `scale` and not one.

    Large norms are left out, and small ones squared: either way the wrong bound is too small.
    """
    rng = np.random.default_rng([seed, length])
    norms = {"tokens": 1.0, "values": 1.0, "keys": 16.0}
    if norm == "keys":
        norms["keys"] = 1.0
    if norm != "none":
        norms[norm] *= scale
    if norm == "tokens":
        norms["keys"] /= scale  # scores stay as they were
    tokens = rng.standard_normal((samples, length, width))
    tokens *= norms["tokens"] / np.linalg.norm(tokens, axis=-1, keepdims=True)
    size = norms["tokens"] * norms["values"] * (norms["tokens"] * norms["keys"] if family == "keys" and norm == "keys" else 1.0)
    radii = bounds.packing_radii(_outputs(family, tokens, norms, functions, rng))
    false = norms | ({} if norm == "none" else {norm: 1.0 if scale > 1.0 else norms[norm] ** 2})
    found = np.array(
        [
            (
                math.log(bounds.packing_number(radii, 2.0 * resolution * size)),
                *(_bound(family, each, resolution * size, samples, length, width) for each in (norms, false)),
            )
            for resolution in RESOLUTIONS
        ]
    )
    names = ("packing", "bound", "false_bound")
    return xarray.Dataset(
        {name: ("resolution", column) for name, column in zip(names, found.T, strict=True)}, {"resolution": list(RESOLUTIONS)}
    )


def _outputs(family: str, tokens: np.ndarray, norms: dict[str, float], functions: int, rng: np.random.Generator) -> np.ndarray:
    """Of random functions, (functions, samples, outputs): matrices have one large row or many alike, keys any direction and length."""
    width, outputs = tokens.shape[-1], []
    known = _matrix(width, norms["values"], rng)
    for _ in range(functions):
        value = known if family == "keys" else _matrix(width, norms["values"], rng)
        if family == "linear":
            outputs.append(tokens[:, 0] @ value)
            continue
        key = rng.standard_normal(width)
        key *= norms["keys"] * rng.uniform() ** (1.0 / width) / np.linalg.norm(key)
        outputs.append(bounds.attend(tokens, tokens @ key, value))
    return np.array(outputs)


def _matrix(width: int, norm: float, rng: np.random.Generator) -> np.ndarray:
    """A random matrix whose columns have norms that add up to a number."""
    matrix = rng.standard_normal((width, width)) * rng.exponential(size=width) ** 4
    return norm * matrix / bounds.norm_21(matrix)


def _bound(family: str, norms: dict[str, float], epsilon: float, samples: int, length: int, width: int) -> float:
    """Of the logarithm of the covering number, with all constants."""
    b_x, b_v, b_k = (norms[name] for name in ("tokens", "values", "keys"))
    if family == "linear":
        return bounds.linear_cover(b_x, b_v, epsilon, samples, width)
    if family == "head":
        return bounds.explicit_head_cover(bounds.HeadNorms(b_v, b_v, b_k), b_x, epsilon, samples=samples, length=length, width=width)
    places = samples * length
    return bounds.head_cover(
        lambda resolution: bounds.linear_cover(1.0, b_k * b_x, resolution, places, width), lambda _: 0.0, epsilon, b_x, b_in=b_v
    )


def _cells(data: xarray.Dataset, family: str, *, scaled: bool = False) -> Iterator[xarray.Dataset]:
    """The measured combinations of one family, with all norms one or with one of them scaled."""
    for norm in data.norm.values.tolist():
        for scale in data.scale.values.tolist():
            for length in data.length.values.tolist():
                cell = data.sel(family=family, norm=norm, scale=scale, length=length)
                if (norm != "none") == scaled and not bool(cell["bound"].isnull().any()):
                    yield cell


def _shares(data: xarray.Dataset, family: str, words: str) -> dict[Any, Finding]:
    """The logarithm of the packing over the bound, by length and resolution."""
    cells = {
        (cell.length.item(), resolution): cell.sel(resolution=resolution) for cell in _cells(data, family) for resolution in RESOLUTIONS
    }
    least = min(float(cell["bound"] / cell["packing"]) for cell in cells.values() if cell["packing"] > 0.0)
    words = f"{words}; the bound is {least:.2g} times the packing or more."
    return {place: Finding(float(cell["packing"] / cell["bound"]), regime=words) for place, cell in cells.items()}


_AT_MOST = at_most(1.0, "log of the number of functions that are told apart, over the bound")


@measure_cover.claim("lemma-46", every(_AT_MOST, "at every resolution"), null=2.0)
def shares_of_maps(data: xarray.Dataset) -> dict[Any, Finding]:
    return _shares(data, "linear", _told(data))


@measure_cover.claim("theorem-42", every(_AT_MOST, "at every resolution and T"), null=2.0)
def shares_of_heads(data: xarray.Dataset) -> dict[Any, Finding]:
    return _shares(data, "head", _told(data)) | {("known", *place): share for place, share in _shares(data, "keys", _told(data)).items()}


@measure_cover.claim(
    "cover-norms",
    every(
        above(0.0, "log of the number of functions that are told apart, over a bound with another power of a norm,", called="one"),
        "for every norm",
    ),
    null=-0.5,
)
def shares_of_wrong_bounds(data: xarray.Dataset) -> dict[Any, Finding]:
    """In powers of ten."""
    words = f"{_told(data)}; norms of {UP:g} left out and of {DOWN:g} squared, at the resolution {FINEST}; log₁₀ of the ratio is shown."
    found = {}
    for family in FAMILIES:
        for cell in _cells(data, family, scaled=True):
            here = cell.sel(resolution=FINEST)
            place = (family, cell.norm.item(), cell.scale.item())
            found[place] = Finding(math.log10(max(float(here["packing"] / here["false_bound"]), _NONE)), regime=words)
    return found


def _told(data: xarray.Dataset) -> str:
    resolutions = f"resolutions {common.listed(RESOLUTIONS)} of the largest output"
    return f"{data.functions} random functions of width {data.width}, {data.samples} samples, {resolutions}"


@measure_cover.figure()
def packings(data: xarray.Dataset) -> Plot:
    figure, number = go.Figure(), 0
    for family, name in FAMILIES.items():
        for cell in _cells(data, family):
            words = name if family != "head" else f"heads, T = {cell.length.item()}"
            add_line(figure, RESOLUTIONS, cell["bound"].values, f"bound: {words}", number, dash="dash")
            add_line(figure, RESOLUTIONS, cell["packing"].values, f"found: {words}", number)
            number += 1
    caption = "Logarithms of how many random functions are told apart (lines) and of the bounds of covering numbers (dashed)."
    return common.plotted(
        figure, "Functions that are told apart", caption, x="resolution over the largest output", y="log of their number", ticks=RESOLUTIONS
    )


@measure_cover.table()
def packings_and_bounds(data: xarray.Dataset) -> Table:
    rows = [
        [
            FAMILIES[family],
            str(cell.length.item()) if family != "linear" else "",
            f"{resolution:g}",
            f"{float(here['packing']):.2f}",
            f"{float(here['bound']):.3g}",
            f"{float(here['bound'] / here['packing']):.2g}" if here["packing"] > 0.0 else "",
        ]
        for family in FAMILIES
        for cell in _cells(data, family)
        for resolution in RESOLUTIONS
        for here in [cell.sel(resolution=resolution)]
    ]
    note = "Of a packing at twice the resolution each function needs an element of its own in a cover, so its logarithm is a lower bound."
    return Table(("functions", "T", "resolution", "log of those told apart", "bound", "bound over it"), rows, note, "Covers")
