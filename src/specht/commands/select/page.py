"""What `specht select` says: whether attention learns to select tokens, at which lengths, and what its matrices become."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.report import Page, Plot, Step, Table, add_points, add_series, matrix_plot, percent, style_axes
from specht.trees import facts

LEARNT = 0.05
"""Share of the trivial loss below which a task counts as learnt in a sentence."""
MATRIX_HEADER = ("codes", "cosine of W", "cosine of V", "off the blocks")


def select_page(data: xarray.DataTree) -> Page:
    """The page on the result of one run."""
    result = facts(data)
    several = "Means over seeds with standard errors." if result.seeds > 1 else "One seed, so without errors."
    exact = f" The dashed line is gradient descent on two numbers{_over(result.theory)}." if result.theory else ""
    plots = [time_plot(result, inverse=False, title="Loss", caption=f"On fresh samples of the length of training. {several}{exact}")]
    if result.optimiser == "sgd":
        words = f"A straight line is a loss that falls as one over time.{exact}"
        plots.append(time_plot(result, inverse=True, title="Inverse loss", caption=words))
    if result.lengths:
        words = f"At the end of training, at lengths that were never seen. {several}"
        plots.append(length_plot(result, title="Other lengths", caption=words))
    note = "The ground truth is the identity between codes for W and on contents for V; last, the larger share of squares elsewhere."
    return Page(
        title="Sparse token selection",
        subtitle=subtitle(result),
        question="Does attention learn to average the tokens that a query names, and at lengths it has never seen?",
        answer=" ".join(answer(result)),
        plots=[*plots, *_matrices(data, result.codes[0])],
        tables=[
            Table(loss_header(result), loss_rows(result), "Half the mean squared error, with standard errors over seeds.", "Losses"),
            Table(MATRIX_HEADER, matrix_rows(result), note, "Matrices", brief=False),
        ],
        method=_method(result),
    )


def subtitle(result: SimpleNamespace) -> str:
    """What was trained, in one line."""
    code = "" if result.code is None else f", codes of dimension {result.code}"
    seeds = f"{result.seeds} seed{'s' * (result.seeds > 1)}"
    return f"{result.task}{code}   {result.optimiser} at {result.learning_rate:g}, {result.train[-1].step} steps, {seeds}"


def answer(result: SimpleNamespace) -> list[str]:
    """What came out, in sentences."""
    sentences = [_learnt(result, kind) for kind in result.codes]
    needed = (
        f"Whatever it computes, a fully connected network needs {result.network_width} units in its first layer to get below "
        f"{result.network_share:.0%} of the loss of answering zero"
    )
    gets_there = [kind for kind in result.codes if getattr(result.train[-1], kind) < result.network_share * result.trivial]
    if result.attention_width is not None and any(kind != "one-hot" for kind in gets_there):
        needed += f"; this attention got there with a width of {result.attention_width}"
    return [*sentences, f"{needed}."]


def _learnt(result: SimpleNamespace, kind: str) -> str:
    share = getattr(result.train[-1], kind) / result.trivial
    verb = "learns" if share < LEARNT else "has not learnt"
    text = f"With {kind} codes attention {verb} the task: {small_percent(share)} of the loss of answering zero"
    tested = [entry for entry in result.lengths if hasattr(entry, kind)]
    if not tested:
        return f"{text}."
    farthest = tested[-1]
    return f"{text}, and {small_percent(getattr(farthest, kind) / result.trivial)} at length {farthest.T_test}."


def loss_header(result: SimpleNamespace) -> list[str]:
    return ["test", *(f"{kind} codes" for kind in result.codes), "answering zero"]


def loss_rows(result: SimpleNamespace) -> list[list[str]]:
    """One row a test: the task itself, then other lengths, then other supports."""
    tests = [("as trained", result.train[-1], result.trivial)]
    tests += [(f"T = {entry.T_test}", entry, result.trivial) for entry in result.lengths]
    tests += [(f"q = {entry.q_test}", entry, entry.trivial) for entry in result.supports]
    return [[name, *(loss_words(entry, kind) for kind in result.codes), f"{trivial:.3g}"] for name, entry, trivial in tests]


def loss_words(entry: SimpleNamespace, kind: str) -> str:
    """A mean with its standard error; nothing where a kind of codes is not tested."""
    if not hasattr(entry, kind):
        return ""
    error = getattr(entry.stderr, kind)
    return f"{getattr(entry, kind):.3g}" + ("" if error is None else f" ± {error:.1g}")


def matrix_rows(result: SimpleNamespace) -> list[list[str]]:
    """How near both matrices are to the ground truth."""
    ends = [(kind, getattr(result.matrices, kind)) for kind in result.codes]
    return [[kind, f"{end.keys_cosine:.4f}", f"{end.values_cosine:.4f}", small_percent(end.off_block)] for kind, end in ends]


def small_percent(share: float) -> str:
    """A share to a tenth of a per cent.

    >>> small_percent(0.0123), small_percent(1e-4)
    ('1.2 %', 'less than 0.1 %')
    """
    return percent(share) if share >= 0.001 else "less than 0.1 %"


def _over(theory: SimpleNamespace) -> str:
    """What the two numbers were averaged over, with the scatter that it leaves."""
    if theory.stderr is None:
        return ", exactly"
    return f" over a pool of draws of codes, to {theory.stderr[-1] / theory.loss[-1]:.1%} of the loss at the end"


def time_plot(result: SimpleNamespace, *, inverse: bool, title: str, caption: str) -> Plot:
    """Losses, or their inverses, against steps; the exact dynamics as a line where there are any."""
    figure = go.Figure()
    records = [record for record in result.train if record.step > 0]
    steps = [record.step for record in records]
    for number, kind in enumerate(result.codes):
        means = np.array([getattr(record, kind) for record in records])
        errors = np.array([getattr(record.stderr, kind) or 0.0 for record in records])
        values, bars = (1 / means, errors / means**2) if inverse else (means, errors)
        add_points(figure, steps, values, f"{kind} codes", number, errors=bars, joined=True)
    if result.theory is not None:
        loss = np.array(result.theory.loss[1:])
        name, losses = f"exact dynamics, {result.theory.codes} codes", 1 / loss if inverse else loss
        style = {"line_width": 2, "line_dash": "dash"}
        add_series(figure, result.theory.steps[1:], losses, name, 4, hover="exact<br>%{x}: %{y:.4g}", **style)
    style_axes(figure, x="steps", y="1 / L" if inverse else "loss L", linear="xy" * inverse, showlegend=True)
    if inverse:
        figure.update_yaxes(rangemode="tozero")
    return Plot(figure, title, caption, wide=True)


def length_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """Losses at the end against the length of the test."""
    figure = go.Figure()
    entries = [(result.length, result.train[-1]), *((entry.T_test, entry) for entry in result.lengths)]
    for number, kind in enumerate(result.codes):
        tested = sorted(
            (length, getattr(entry, kind), getattr(entry.stderr, kind) or 0.0) for length, entry in entries if hasattr(entry, kind)
        )
        lengths, losses, errors = zip(*tested, strict=True)
        add_points(figure, lengths, losses, f"{kind} codes", number, errors=errors, joined=True)
    lengths = [length for length, _ in entries]
    ends = [min(lengths), max(lengths)]
    add_series(figure, ends, [result.trivial] * 2, "answering zero", 3, line_width=1.4, line_dash="dot")
    style_axes(figure, x="test length T", y="loss L", linear="x", showlegend=True)
    figure.update_xaxes(tickvals=lengths)
    return Plot(figure, title, caption, wide=True)


def _matrices(data: xarray.DataTree, kind: str) -> list[Plot]:
    """W and V of one kind of codes and the first seed; from zero there is nothing to see at the start."""
    plots = []
    for name, symbol in (("keys", "W"), ("values", "V")):
        for when in ("start", "end"):
            matrix = np.asarray(data[f"trainings/{name}_{when}_{kind}"])
            if matrix.any():
                caption = f"Rows and columns: contents first, then codes. {kind.capitalize()} codes, first seed."
                plots.append(matrix_plot(matrix, title=f"{symbol} at the {when}", caption=caption))
    return plots


def _method(result: SimpleNamespace) -> list[Step]:
    steps = [
        Step(
            "T vectors of d standard normal numbers and a uniformly random set y of q positions; the answer is their mean:",
            ["STS_q(x, y) = (1/q) Σ_{i∈y} x_i,   L = ½ E‖f − STS_q‖²"],
        ),
        Step(
            "One layer of attention over tokens with codes of their positions, both matrices trained as a whole; the query holds the code "
            "of the set, which unless said otherwise has product one with each of its members:",
            ["z_i = (x_i; e_i),   z_y = (0; e_y),   f = V Z softmax(Z^T W z_y)", "e_y = E_y (E_y^T E_y)^{−1} 1"],
        ),
        Step(
            "The first layer of a fully connected network knows as many linear functions of the sequence as it has units:",
            ["E‖f − STS_q‖² ≥ (Td − m)_+ (T − q) / (qT(T − 1))   for m ≥ d"],
        ),
    ]
    if result.theory and result.theory.codes == "one-hot":
        steps.append(Step("With one-hot codes gradient descent from zero stays on two numbers, and in the end", ["L = (T − 1) / (4ηt)"]))
    elif result.theory:
        steps.append(
            Step(
                "With codes drawn anew at every step W stays a multiple of the identity between codes on average, and V one on contents; "
                "the two numbers are followed over a pool of draws."
            )
        )
    return steps
