"""What `specht predict` says: the answer in sentences, its figures and tables, and the method."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from types import SimpleNamespace

from specht.architecture import Architecture
from specht.commands.kernel_method import KERNEL_NAMES, kernel_steps
from specht.commands.predict.figures import breaking_plot, phase_plot, strength_plot
from specht.report import (
    LOSS_NAMES,
    WIDTH_COLOURS,
    Column,
    Page,
    Plot,
    Step,
    Table,
    curve_plot,
    finite_widths,
    growth_plot,
    is_cut,
    level_plot,
    listed,
    losses,
    need_plot,
    networks_beside,
    spectrum_plot,
)

FINITE_HEADER = ("width", "samples for the error", "symmetry breaks from N", "how")


def predict_page(result: SimpleNamespace) -> Page:
    """What the numbers say."""
    source = f"{result.source.name} source"
    return Page(
        title="What a transformer will learn",
        subtitle=f"{result.architecture} · {KERNEL_NAMES[result.kind]}, {source}, target {result.target.name}",
        question="How much of the target is learnt from N samples, before any training?",
        answer=" ".join(answer(result)),
        plots=_plots(result),
        tables=[
            curve_table(result),
            *([finite_table(result)] if result.finite else []),
            need_table(result),
            *([net_table(result.net)] if result.net else []),
            *([breaking_table(result)] if result.breaking else []),
        ],
        method=method(result),
    )


def answer(result: SimpleNamespace) -> list[str]:
    """The answer in two sentences, and further ones on what is missing, and where exact inference or networks were run."""
    first = _at_finite_width(result) if result.finite else _at_infinite_width(result)
    return [first, _why(result), *_reservations(result), *_checked(result)]


def _at_finite_width(result: SimpleNamespace) -> str:
    finite, needed = result.finite, result.error.samples
    one = len(finite.width) == 1
    who = f"By theory {'a transformer of width' if one else 'transformers of widths'} {listed(finite.width)}"
    beyond = f"at infinite width {'no number of samples is enough' if needed is None else f'it takes {samples(needed)}'}"
    error = f"the target to an error of {asked_error(result, 'its')}"
    if all(number is None for number in finite.samples):
        return f"{who} {'does' if one else 'do'} not learn {error} from {finite.n_train[-1]} samples; {beyond}."
    numbers = [bounded(number, finite.n_train) for number in finite.samples]
    about = "about " if all(number[0].isdigit() for number in numbers) else ""
    return f"{who} {'learns' if one else 'learn'} {error} from {about}{listed(numbers)} samples; {beyond}."


def _at_infinite_width(result: SimpleNamespace) -> str:
    needed, half, error = result.error.samples, result.half_learned, asked_error(result)
    if needed is None:
        why = f"With a ridge of {result.ridge:g} E[k]"
        if result.target.unresolved > result.error.share * result.target.variance:
            why = "Because part of the target lies in functions that the kernel does not hold or that the spectrum does not resolve,"
        return f"{why} the error is not predicted to stay below {error}."
    learnt = "" if half is None else f", and half of the target is learnt from {samples(half)}"
    return f"An error of {error} needs about {samples(needed)} samples{learnt}."


def samples(number: float | None) -> str:
    """A number of samples to three digits."""
    if number is None:
        return "∞"
    if number >= 1e6:
        return f"{number:.2e}"
    return f"{number:.1f}" if number < 10 else f"{float(f'{number:.3g}'):.0f}"


def asked_error(result: SimpleNamespace, whose: str = "the target's") -> str:
    """The error that is asked for, as a share: a constant has no variance."""
    return f"{100 * result.error.share:g} % of {whose} {'mean square' if result.target.constant else 'variance'}"


def bounded(number: float | None, n_train: Sequence[int]) -> str:
    """A number of samples that was looked for among those of a curve."""
    if number is None:
        return f"more than {n_train[-1]}"
    return f"at most {n_train[0]}" if number <= n_train[0] else samples(number)


def _why(result: SimpleNamespace) -> str:
    """Where the target lies, which decides what it costs at infinite width."""
    target, total = result.target, result.target.mean_square
    parts = [part for part in target.levels if total and part.mean_square >= 0.01 * total]
    if not parts:
        return "None of it lies in functions that the kernel holds and the spectrum resolves, so none of it is predicted to be learnt."
    told = []
    for part in parts:
        where = "at infinite width " if result.finite else ""
        words = f"{where}half of that is learnt from " if not told else ""  # in full where it is the first
        price = f"level {part.level}: {words}{samples(part.half_learned)} samples"
        does = f"singles out {part.level} position{'s' if part.level > 1 else ''}" if part.level else "ignores the order of tokens"
        told.append(f"{100 * part.mean_square / total:.0f} % {does} ({price})")
    rest = target.unresolved / total
    missing = [f"{100 * rest:.0f} % lies in functions that the kernel does not hold or that are not resolved"] if rest >= 0.01 else []
    return f"Of the target's mean square {listed([*told, *missing])}."


def _reservations(result: SimpleNamespace) -> list[str]:
    """Where finite width is too good to be true, or missing."""
    finite, said = result.finite, []
    if finite and finite.crowded:
        said.append(
            "The theory of finite width leaves out fluctuations, and tends to be too optimistic where there are more positions than half "
            f"the width, as at width {finite.width[0]} here."
        )
    if finite and finite.nonlinear:
        said.append(
            "Here layers behind attention count as infinitely wide. With a nonlinear activation real ones learn features of their own, so "
            "networks may need far fewer samples; specht.adapt samples them."
        )
    return said + ([result.finite_note] if result.finite_note else [])


def _checked(result: SimpleNamespace) -> list[str]:
    """What exact inference and networks say about the theory."""
    exact, net, said = result.gp, result.net, []
    if exact and hasattr(exact.mean_relative_error, "test"):
        which = "the test loss at infinite width" if result.finite else "this test loss"
        error = 100 * exact.mean_relative_error.test
        said.append(f"Exact inference on {exact.datasets} data sets is within {error:.1f} % of {which} on average.")
    if net is None:
        return said
    if net.excess[-1] is not None:
        did = "sampled from their posterior" if net.method == "langevin" else "trained to the end"
        said.append(
            f"Networks of width {net.size.width} {did} have a test loss {100 * net.excess[-1]:+.0f} ± "
            f"{100 * net.excess_stderr[-1]:.0f} % from infinite width (exact inference) on the same {net.n_train[-1]} samples."
        )
    return [*said, *([net.regime.sentence] if net.regime else []), *_networks_and_theory(result), *net.warnings]


def _networks_and_theory(result: SimpleNamespace) -> list[str]:
    """Networks beside the theory at their width, at the largest number of samples that they were given."""
    width, net, finite = networks_beside(result), result.net, result.finite
    place = len(net.n_train) - 1
    if width is None or place >= len(finite.n_train):
        return []
    expected, measured, error = finite.test[finite.width.index(width)][place], net.test[place], net.test_stderr[place]
    away = abs(measured - expected) / error
    apart = "which agrees" if away <= 2.0 else f"{away:.1f} standard errors {'more' if measured > expected else 'less'}"
    return [f"Theory at width {width} expects {expected:.3g} there, and these networks have {measured:.3g} ± {error:.1g}, {apart}."]


def _plots(result: SimpleNamespace) -> list[Plot]:
    points = " Points are exact Bayesian inference on sampled data, with standard errors." if result.gp else ""
    if result.finite:
        cut = " Losses below a millionth of the largest are not drawn." if is_cut(result) else ""
        points = f" Thick lines are the test loss of networks of finite width, all others are of infinite width.{cut}{points}"
    points += f" Diamonds are networks of width {result.net.size.width}." if result.net else ""
    plots = [
        curve_plot(
            result,
            title="Learning curve",
            caption="Mean squared error against the number of samples. Lines are theory; the dotted one is its simplest form, the "
            f"equivalent kernel.{points}",
        ),
        *_finite_plots(result.finite, result.phases),
        level_plot(
            result.theory,
            title="What is learnt when",
            caption="The share of the target's part at each level that the mean prediction holds, at infinite width. A level m part "
            "singles out m positions.",
        ),
        need_plot(
            result.complexity,
            title="Samples that each irrep needs",
            caption="Dots: samples that teach half of the easiest function of each pattern, at infinite width. Dashes: the least that "
            "symmetry allows.",
        ),
        spectrum_plot(
            [result.spectrum],
            title="The spectrum by irrep",
            caption="Eigenvalues of the kernel, largest first, each as wide as its degeneracy. Both axes logarithmic.",
        ),
    ]
    if result.breaking:
        plots.append(
            breaking_plot(
                result.breaking,
                title="When theory stops being safe",
                caption="How far the predicted test loss is from exact inference, as order begins to matter in the data. The gap is the "
                "total variation between the law of the data and its average over permutations.",
            )
        )
    return plots


def _finite_plots(finite: SimpleNamespace | None, phases: SimpleNamespace | None) -> list[Plot]:
    """How the embedding moves, and phases where they were asked for."""
    plots = []
    if finite and finite.reads:
        plots.append(strength_plot(finite, WIDTH_COLOURS, title="How much the positions that the target reads stand out"))
    elif finite:
        plots.append(growth_plot(finite, title="How variances grow"))
    if phases:
        plots.append(phase_plot(phases, "width", title="Phases: samples and width"))
        if phases.by_length:
            plots.append(phase_plot(phases, "length", title="Phases: samples and length"))
    return plots


def curve_table(result: SimpleNamespace) -> Table:
    """One row for each number of samples: finite widths first, with networks beside the width they have, then infinite width, with exact
    inference beside it where it was computed."""
    columns: list[tuple[str, list[str]]] = [("N", [str(n) for n in result.n_train])]
    for row, width in enumerate(finite_widths(result)):
        columns.append((f"test, width {width}", [_number(value) for value in result.finite.test[row]]))
        if width == networks_beside(result):
            columns.append(("networks", _points(result.net, "test")))
    for loss in losses(result):
        infinite = "infinite: " if loss == "test" and result.finite else ""
        columns.append((f"{infinite}{LOSS_NAMES[loss]}", [_number(value) for value in getattr(result.theory, loss)]))
        if result.gp:
            columns.append(("exact", _points(result.gp, loss)))
    columns.append(("learnt", ["" if share is None else f"{100 * share:.0f} %" for share in result.theory.learned]))
    rows = list(itertools.zip_longest(*(cells for _, cells in columns), fillvalue=""))
    if result.gp:
        errors = listed(f"{100 * error:.1f} % ({name})" for name, error in vars(result.gp.mean_relative_error).items())
        note = f"Mean relative difference between theory and exact inference: {errors}."
    else:
        note = "Add --check gp to put exact Bayesian inference beside the theory."
    return Table([name for name, _ in columns], rows, note, "The learning curve")


def finite_table(result: SimpleNamespace) -> Table:
    """One row for each width: samples that the asked error takes, and from where on positions are treated differently."""
    finite, rows = result.finite, []
    note = f"Samples for an error of {asked_error(result)}."
    if finite.reads:
        note += " The symmetry counts as broken where a position that the target reads has twice the variance of the others."
    never = f"not up to {finite.n_train[-1]}" if finite.reads else "never"
    for width, needed, change in zip(finite.width, finite.samples, finite.transition, strict=True):
        broken, how = (never, "") if change.samples is None else (bounded(change.samples, finite.n_train), change.kind)
        rows.append([str(width), bounded(needed, finite.n_train), broken, how])
    return Table(FINITE_HEADER, [*rows, ["infinite", samples(result.error.samples), "never", ""]], note, "Finite widths")


def need_table(result: SimpleNamespace) -> Table:
    """One row for each irrep: what half of its leading function costs."""
    columns: dict[str, Column] = {
        "level": "level",
        "irrep": "irrep",
        "degeneracy": "degeneracy",
        "eigenvalue / E[k]": lambda need: f"{'≥ ' if need.lower_bound else ''}{need.eigenvalue:.3g}",
        "samples N*": lambda need: f"{'≤ ' if need.lower_bound else ''}{samples(need.samples)}",
        "at least": lambda need: samples(need.bound),
    }
    sampled = any(need.lower_bound for need in result.complexity)
    note = "Sampled eigenvalues are lower bounds, so that the samples are upper ones." if sampled else ""
    return Table.of(result.complexity, columns, note=note, title="What each irrep costs")


def net_table(net: SimpleNamespace) -> Table:
    """One row for each number of samples that networks were trained on: their test loss beside exact inference."""
    rows = []
    for index, n in enumerate(net.n_train):
        excess, error = net.excess[index], net.excess_stderr[index]
        apart = "" if excess is None else f"{100 * excess:+.0f} ± {100 * error:.0f} %"
        row = [str(n), _measured(net.test[index], net.test_stderr[index]), _number(net.exact_test[index]), apart]
        rows.append([*row, f"{net.r_hat[index]:.3f}", f"{net.effective_samples[index]:.0f}"] if net.r_hat else row)
    header = ("N", "networks", "exact, same data", "difference", *(["R-hat", "effective samples"] if net.r_hat else []))
    how = {
        "langevin": "The mean of networks sampled from their posterior by Langevin dynamics",
        "gradient descent": "Networks trained to the end by gradient descent with weight decay to their initial values",
    }[net.method]
    size = f"width {net.size.width}, {net.size.heads} heads of size {net.size.head_size}"
    note = f"{how}: {size}, {net.datasets} data sets. They tend to exact inference as the width grows, and differ by about one over it."
    return Table(header, rows, note, "Finite networks, test loss")


def breaking_table(result: SimpleNamespace) -> Table:
    """One row for each degree to which order was broken."""

    def off(row: SimpleNamespace) -> str:
        return f"{100 * row.error:+.1f} ± {100 * row.stderr:.1f} %"

    columns: dict[str, Column] = {"ε": "epsilon:g", "gap": lambda row: f"{row.gap.value:.2g}", "theory off by": off}
    note = "ε adds to whatever order the source has; theory is off by the mean of predicted over exact test loss, minus one."
    return Table.of(result.breaking, columns, note=note, title="When order begins to matter")


def _number(value: float | None) -> str:
    return "∞" if value is None else f"{value:.3g}"


def _points(measured: SimpleNamespace, loss: str) -> list[str]:
    """What was measured at those numbers of samples that were tried."""
    return [_measured(*point) for point in zip(getattr(measured, loss), getattr(measured, f"{loss}_stderr"), strict=True)]


def _measured(value: float | None, stderr: float | None) -> str:
    return "" if value is None or stderr is None else f"{value:.3g} ± {stderr:.1g}"


def method(result: SimpleNamespace) -> list[Step]:
    """How the numbers come about."""
    gap = result.source.gap
    steps = [
        Step(
            "Permuting the context changes neither the kernel nor the law of exchangeable data. So the kernel operator has one eigenvalue "
            "for each copy of an irrep R of the symmetric group, with the degeneracy dim R, and the target splits into parts g_R:",
            ["E_y[ k(x, y) φ_R(y) ] = λ_R φ_R(x)", "g = Σ_R g_R,   w_R = E[ g_R² ]"],
        ),
        Step(
            "From N samples and with a ridge δ, functions that are not learnt act on the others as noise. With everything in units of "
            "E[k(x, x)], this fixes κ, hence how much of each part is learnt:",
            ["N = Σ_R dim R · λ_R / (λ_R + κ) + δ / κ", "L_R = λ_R / (λ_R + κ)", "E_0 = N / (N − Σ_R dim R · L_R²)"],
        ),
        Step(
            "Losses follow, with σ² the variance of the labels around the target. The equivalent kernel takes κ = δ/N and E_0 = 1:",
            ["test = E_0 ( Σ_R (1 − L_R)² w_R + σ² ) − σ²", "train = (δ / N κ)² E_0 ( Σ_R (1 − L_R)² w_R + σ² )"],
        ),
    ]
    if result.finite is not None:
        sampled = " Its average over labels is estimated from the kernel of sampled sequences."
        steps.append(
            Step(
                "At finite width d the variances of tokens and positions are not fixed. Width counts as d observations of nothing special: "
                "the variances, r_i times those at infinite width and each shared by n_i vectors, sit where a free energy is least. This "
                "is the saddle point of Bayesian inference, a result of this project and not of a paper. It leaves out fluctuations, so it "
                "expects too little loss where positions are not few beside the width; layers behind the embedding count as infinitely "
                f"wide.{'' if result.finite.method == 'exact' else sampled}",
                ["F = d/2 · Σ_i n_i ( r_i − ln r_i − 1 ) + ½ E[ ln det( k_r + δ ) + y^T ( k_r + δ )^{−1} y ]"],
            )
        )
    if result.theory.ood is not None:
        steps.append(
            Step(
                f"Out of distribution ({result.shift}) the parts of the target are no longer orthogonal, and the variance of the "
                "prediction is weighed by how large the eigenfunctions are there:",
                ["Σ_{RS} (1 − L_R) E_{test}[ g_R g_S ] (1 − L_S) + (test + σ²)/N · Σ_R L_R² Σ_a E_{test}[ φ_{Ra}² ]"],
            )
        )
    if result.tail > 1e-6:
        steps.append(
            Step(f"Functions that the spectrum does not resolve hold {100 * result.tail:.2g} % of E[k]; they add as much to the ridge.")
        )
    if result.net is not None:
        steps.append(_network_step(result.net.method))
    if gap is not None:
        steps.append(
            Step(
                f"The order of the tokens matters in this source: its law is a total variation of {gap.value:.2g} away from its average "
                "over permutations. The theory forgets the order and keeps how often each component shows each token."
            )
        )
    return [*steps, *kernel_steps(Architecture.parse(result.architecture), [result.kind])]


def _network_step(method: str) -> Step:
    """How networks were made to learn."""
    if method == "langevin":
        return Step(
            "Finite networks are sampled by Langevin dynamics, whose stationary law for small steps η is the posterior with label noise T, "
            "the ridge, and prior variance s of each weight. With a velocity u and a momentum β:",
            ["u ← β u − η ( T θ / s + ∇ ½ Σ_n |f(x_n) − y_n|² ) + √(2 (1 − β) η T) ξ", "θ ← θ + u"],
        )
    return Step(
        "Finite networks are trained by gradient descent with momentum until nothing changes, their initial function f_0 subtracted:",
        ["½ Σ_n |f(x_n) − f_0(x_n) − y_n|² + ½ δ |θ − θ_0|²"],
    )
