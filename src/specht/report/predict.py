"""The report of `specht predict`: what is learnt from how many samples, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specht.architecture import Architecture
from specht.report.adaptive_figures import growth_plot
from specht.report.architecture import KERNEL_NAMES, kernel_steps
from specht.report.figures import Plot
from specht.report.page import Report, Step, Table, listed
from specht.report.phase_figures import phase_plot, strength_plot
from specht.report.predict_figures import WIDTH_COLOURS, breaking_plot, curve_plot, is_cut, level_plot, need_plot
from specht.report.predict_tables import (
    BREAKING_HEADER,
    FINITE_HEADER,
    NEED_HEADER,
    breaking_rows,
    curve_header,
    curve_rows,
    finite_rows,
    finite_samples,
    need_rows,
    net_header,
    net_rows,
    networks_beside,
    samples,
)
from specht.report.spectrum_figures import spectrum_plot
from specht.trees import named


def predict_report(architecture: Architecture, result: Mapping[str, Any], *, reproduce: str, made_with: Mapping[str, str]) -> Report:
    """The report on the result of one run."""
    source = f"{result['source']['name']} source"
    tables = [
        Table(curve_header(result), curve_rows(result), note=_check_note(result), title="The learning curve"),
        *([Table(FINITE_HEADER, finite_rows(result), note=_finite_note(result), title="Finite widths")] if result["finite"] else []),
        Table(NEED_HEADER, need_rows(result), note=_need_note(result), title="What each irrep costs"),
    ]
    if result["net"]:
        tables.append(Table(net_header(result), net_rows(result), note=_net_note(result), title="Finite networks, test loss"))
    if result["breaking"]:
        note = "ε adds to whatever order the source has; theory is off by the mean of predicted over exact test loss, minus one."
        tables.append(Table(BREAKING_HEADER, breaking_rows(result), note=note, title="When order begins to matter"))
    return Report(
        title="What a transformer will learn",
        subtitle=f"{result['architecture']} · {KERNEL_NAMES[result['kind']]}, {source}, target {result['target']['name']}",
        question="How much of the target is learnt from N samples, before any training?",
        answer=" ".join(answer(result)),
        plots=_plots(result),
        tables=tables,
        method=_method(architecture, result),
        reproduce=reproduce,
        made_with=made_with,
    )


def answer(result: Mapping[str, Any]) -> list[str]:
    """The answer in two sentences, and further ones on what is missing, and where exact inference or networks were run."""
    first = _at_finite_width(result) if result["finite"] else _at_infinite_width(result)
    return [first, _why(result), *_reservations(result), *_checked(result)]


def _at_finite_width(result: Mapping[str, Any]) -> str:
    widths, needed = result["finite"]["width"], result["error"]["samples"]
    who, learns = ("a transformer of width", "learns") if len(widths) == 1 else ("transformers of widths", "learn")
    beyond = "no number of samples is enough" if needed is None else f"it takes {samples(needed)}"
    error = f"the target to an error of {100 * result['error']['share']:g} % of its {_unit(result)}"
    if all(number is None for number in result["finite"]["samples"]):
        does, most = "does" if len(widths) == 1 else "do", result["finite"]["n_train"][-1]
        return f"By theory {who} {listed(map(str, widths))} {does} not learn {error} from {most} samples; at infinite width {beyond}."
    return (
        f"By theory {who} {listed(map(str, widths))} {learns} {error} from {_about(finite_samples(result))} samples; "
        f"at infinite width {beyond}."
    )


def _about(numbers: list[str]) -> str:
    return f"about {listed(numbers)}" if all(number[0].isdigit() for number in numbers) else listed(numbers)


def _at_infinite_width(result: Mapping[str, Any]) -> str:
    share, needed, half = result["error"]["share"], result["error"]["samples"], result["half_learned"]
    if needed is None:
        return f"{_out_of_reach(result)} the error is not predicted to stay below {100 * share:g} % of the target's {_unit(result)}."
    learnt = "" if half is None else f", and half of the target is learnt from {samples(half)}"
    return f"An error of {100 * share:g} % of the target's {_unit(result)} needs about {samples(needed)} samples{learnt}."


def _reservations(result: Mapping[str, Any]) -> list[str]:
    """Where finite width is too good to be true, or missing."""
    finite, said = result["finite"], []
    if finite and finite["crowded"]:
        width = finite["width"][0]
        said.append(
            "The theory of finite width leaves out fluctuations, and tends to be too optimistic where there are more positions than half "
            f"the width, as at width {width} here."
        )
    if finite and finite["nonlinear"]:
        said.append(
            "Here layers behind attention count as infinitely wide. With a nonlinear activation real ones learn features of their own, so "
            "networks may need far fewer samples; specht.adapt samples them."
        )
    return said + ([result["finite_note"]] if result["finite_note"] else [])


def _unit(result: Mapping[str, Any]) -> str:
    """What errors are a share of: a constant has no variance."""
    return "mean square" if result["target"]["constant"] else "variance"


def _out_of_reach(result: Mapping[str, Any]) -> str:
    """Why no number of samples is enough."""
    target = result["target"]
    if target["unresolved"] > result["error"]["share"] * target["variance"]:
        return "Because part of the target lies in functions that the kernel does not hold or that the spectrum does not resolve,"
    return f"With a ridge of {result['ridge']:g} E[k]"


def _why(result: Mapping[str, Any]) -> str:
    """Where the target lies, which decides what it costs at infinite width."""
    target = result["target"]
    total = target["mean_square"]
    shares = [(part, part["mean_square"] / total) for part in target["levels"] if total and part["mean_square"] >= 0.01 * total]
    if not shares:
        return "None of it lies in functions that the kernel holds and the spectrum resolves, so none of it is predicted to be learnt."
    told = [f"{100 * share:.0f} % {_reading(part['level'])} ({_price(part, result, part is shares[0][0])})" for part, share in shares]
    rest = target["unresolved"] / total
    missing = [f"{100 * rest:.0f} % lies in functions that the kernel does not hold or that are not resolved"] if rest >= 0.01 else []
    return f"Of the target's mean square {listed([*told, *missing])}."


def _price(part: Mapping[str, Any], result: Mapping[str, Any], first: bool) -> str:
    """What half of the part at a level costs, in full where it is the first."""
    where = "at infinite width " if result["finite"] else ""
    words = f"{where}half of that is learnt from " if first else ""
    return f"level {part['level']}: {words}{samples(part['half_learned'])} samples"


def _reading(level: int) -> str:
    """What functions of a level do."""
    return "ignores the order of tokens" if level == 0 else f"singles out {level} position{'s' if level > 1 else ''}"


def _checked(result: Mapping[str, Any]) -> list[str]:
    said, net = _checked_exactly(result), result["net"]
    return said if net is None else [*said, *_checked_by_networks(net), *_networks_and_theory(result), *net["warnings"]]


def _networks_and_theory(result: Mapping[str, Any]) -> list[str]:
    """Networks beside the theory at their width, at the largest number of samples that they were given."""
    width, net = networks_beside(result), result["net"]
    place = len(net["n_train"]) - 1
    if width is None or place >= len(result["finite"]["n_train"]):
        return []
    expected = result["finite"]["test"][result["finite"]["width"].index(width)][place]
    found, error = net["test"][place], net["test_stderr"][place]
    return [
        f"Theory at width {width} expects {expected:.3g} there, and these networks have {found:.3g} ± "
        f"{error:.1g}{_apart(found, expected, error)}."
    ]


def _apart(found: float, expected: float, error: float) -> str:
    """How far networks are from the theory at their width, in their standard errors."""
    away = abs(found - expected) / error
    if away <= 2.0:
        return ", which agrees"
    return f", {away:.1f} standard errors {'more' if found > expected else 'less'}"


def _checked_by_networks(net: Mapping[str, Any]) -> list[str]:
    said = []
    if net["excess"][-1] is not None:
        did = "sampled from their posterior" if net["method"] == "langevin" else "trained to the end"
        said.append(
            f"Networks of width {net['size']['width']} {did} have a test loss {100 * net['excess'][-1]:+.0f} ± "
            f"{100 * net['excess_stderr'][-1]:.0f} % from infinite width (exact inference) on the same {net['n_train'][-1]} samples."
        )
    return said + ([net["regime"]["sentence"]] if net["regime"] else [])


def _checked_exactly(result: Mapping[str, Any]) -> list[str]:
    if result["gp"] is None or "test" not in result["gp"]["mean_relative_error"]:
        return []
    errors = result["gp"]["mean_relative_error"]
    which = "the test loss at infinite width" if result["finite"] else "this test loss"
    return [f"Exact inference on {result['gp']['datasets']} data sets is within {100 * errors['test']:.1f} % of {which} on average."]


def _plots(result: Mapping[str, Any]) -> list[Plot]:
    points = " Points are exact Bayesian inference on sampled data, with standard errors." if result["gp"] is not None else ""
    if result["finite"]:
        cut = " Losses below a millionth of the largest are not drawn." if is_cut(result) else ""
        points = f" Thick lines are the test loss of networks of finite width, all others are of infinite width.{cut}{points}"
    points += f" Diamonds are networks of width {result['net']['size']['width']}." if result["net"] is not None else ""
    entry = result["spectrum"]
    plots = [
        curve_plot(
            result,
            title="Learning curve",
            caption="Mean squared error against the number of samples. Lines are theory; the dotted one is its simplest form, the "
            f"equivalent kernel.{points}",
        ),
        *_finite_plots(result),
        level_plot(
            result,
            title="What is learnt when",
            caption="The share of the target's part at each level that the mean prediction holds, at infinite width. A level m part "
            "singles out m positions.",
        ),
        need_plot(
            result,
            title="Samples that each irrep needs",
            caption="Dots: samples that teach half of the easiest function of each pattern, at infinite width. Dashes: the least that "
            "symmetry allows.",
        ),
        spectrum_plot(
            [named(entry)],
            title="The spectrum by irrep",
            caption="Eigenvalues of the kernel, largest first, each as wide as its degeneracy. Both axes logarithmic.",
        ),
    ]
    if result["breaking"]:
        plots.append(
            breaking_plot(
                result,
                title="When theory stops being safe",
                caption="How far the predicted test loss is from exact inference, as order begins to matter in the data. The gap is the "
                "total variation between the law of the data and its average over permutations.",
            )
        )
    return plots


def _finite_plots(result: Mapping[str, Any]) -> list[Plot]:
    """How the embedding moves, and phases where they were asked for."""
    finite, phases, plots = result["finite"], result["phases"], []
    if finite and finite["reads"]:
        plots.append(strength_plot(finite, WIDTH_COLOURS, title="How much the positions that the target reads stand out"))
    elif finite:
        plots.append(growth_plot(finite, title="How variances grow"))
    if phases:
        plots.append(phase_plot(phases, "width", title="Phases: samples and width"))
        if phases["by_length"]:
            plots.append(phase_plot(phases, "length", title="Phases: samples and length"))
    return plots


def _finite_note(result: Mapping[str, Any]) -> str:
    note = f"Samples for an error of {100 * result['error']['share']:g} % of the target's {_unit(result)}."
    if result["finite"]["reads"]:
        note += " The symmetry counts as broken where a position that the target reads has twice the variance of the others."
    return note


def _check_note(result: Mapping[str, Any]) -> str:
    if result["gp"] is None:
        return "Add --check gp to put exact Bayesian inference beside the theory."
    errors = listed(f"{100 * error:.1f} % ({name})" for name, error in result["gp"]["mean_relative_error"].items())
    return f"Mean relative difference between theory and exact inference: {errors}."


def _net_note(result: Mapping[str, Any]) -> str:
    net = result["net"]
    how = {
        "langevin": "The mean of networks sampled from their posterior by Langevin dynamics",
        "gradient descent": "Networks trained to the end by gradient descent with weight decay to their initial values",
    }[net["method"]]
    size = f"width {net['size']['width']}, {net['size']['heads']} heads of size {net['size']['head_size']}"
    return f"{how}: {size}, {net['datasets']} data sets. They tend to exact inference as the width grows, and differ by about one over it."


def _need_note(result: Mapping[str, Any]) -> str:
    if any(need["lower_bound"] for need in result["complexity"]):
        return "Sampled eigenvalues are lower bounds, so that the samples are upper ones."
    return ""


def _method(architecture: Architecture, result: Mapping[str, Any]) -> list[Step]:
    gap = result["source"]["gap"]
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
    if result["finite"] is not None:
        steps.append(_finite_step(result["finite"]["method"]))
    if result["theory"]["ood"] is not None:
        steps.append(
            Step(
                f"Out of distribution ({result['shift']}) the parts of the target are no longer orthogonal, and the variance of the "
                "prediction is weighed by how large the eigenfunctions are there:",
                ["Σ_{RS} (1 − L_R) E_{test}[ g_R g_S ] (1 − L_S) + (test + σ²)/N · Σ_R L_R² Σ_a E_{test}[ φ_{Ra}² ]"],
            )
        )
    if result["tail"] > 1e-6:
        steps.append(
            Step(f"Functions that the spectrum does not resolve hold {100 * result['tail']:.2g} % of E[k]; they add as much to the ridge.")
        )
    if result["net"] is not None:
        steps.append(_network_step(result["net"]["method"]))
    if gap is not None:
        steps.append(
            Step(
                f"The order of the tokens matters in this source: its law is a total variation of {gap['value']:.2g} away from its average "
                "over permutations. The theory forgets the order and keeps how often each component shows each token."
            )
        )
    return [*steps, *kernel_steps(architecture, [result["kind"]])]


def _finite_step(method: str) -> Step:
    """How finite width is dealt with."""
    how = "" if method == "exact" else " Its average over labels is estimated from the kernel of sampled sequences."
    return Step(
        "At finite width d the variances of tokens and positions are not fixed. Width counts as d observations of nothing special: the "
        "variances, r_i times those at infinite width and each shared by n_i vectors, sit where a free energy is least. This is the saddle "
        "point of Bayesian inference, a result of this project and not of a paper. It leaves out fluctuations, so it expects too little "
        f"loss where positions are not few beside the width; layers behind the embedding count as infinitely wide.{how}",
        ["F = d/2 · Σ_i n_i ( r_i − ln r_i − 1 ) + ½ E[ ln det( k_r + δ ) + y^T ( k_r + δ )^{−1} y ]"],
    )


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
