"""A learning curve before training: architecture, data and target in, losses and sample complexity out."""

from __future__ import annotations

import dataclasses
import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from specht.commands.predict import PredictConfig
from specht.commands.task_flags import MODES
from specht.errors import InputError
from specht.kernel import SAMPLED_FORMS, choose_form
from specht.lab import one_thread
from specht.learning import (
    LOSSES,
    content,
    exact as gp,
    kernel_regime,
    leading_modes,
    networks,
    sample_complexity,
    samples_for_error,
    samples_to_learn,
    spectrum_for_curves,
    theory_curve,
)
from specht.learning.adaptive import SEQUENCES, adaptive_curve, most_samples
from specht.progress import Progress, stages
from specht.results import plain
from specht.sequences import TASKS, Task, exchangeability_gap, order_broken, task as named_task
from specht.spectra import spectrum_entry
from specht.trees import Along, along

if TYPE_CHECKING:
    from specht.architecture import Architecture
    from specht.learning import Curve, MeasuredCurve
    from specht.learning.adaptive import AdaptiveCurve
    from specht.sequences import Source, Target
    from specht.spectra import Spectrum

QUICK_VOCAB, QUICK_VOCAB_MEAN = 12, 8
"""Tokens at most, where nobody asked for a finite width: with more of them its theory takes longer than about ten seconds. The second is
for a mean readout, which has many more functions."""


def prediction(config: PredictConfig, progress: Progress | None = None) -> dict[str, Any]:
    """All numbers of a configuration apart from phases, as `specht.trees.tree` takes them."""
    cpu, wall = time.process_time(), time.perf_counter()
    arch = config.architecture.architecture()
    if config.needs_finite_width:
        refuse_architecture(arch)
    source = config.build_source(arch)
    costs = [{"gp": 1.0, "net": 20.0}[name] for name in sorted(config.check)]
    first, second, *checks = stages(progress, [1.0, 1.0 if config.widths else 0.0, *costs, *([1.0] * len(config.breaking))])
    spectrum = spectrum_of(config, arch, source, first)
    task = task_of(config, arch, spectrum)
    curve = theory_curve(spectrum, content(spectrum, task, seed=config.seed), config.n_train, config.ridge, config.noise)
    parts = curve.content
    gap = None if source.is_exchangeable else _gap(config, arch, source)
    finite, note = at_finite_width(config, arch, task, second)
    exact = _exact(config, arch, task, spectrum.trace, checks.pop(0)) if "gp" in config.check else None
    net = _networks(config, arch, task, spectrum.trace, checks.pop(0)) if "net" in config.check else None
    broken = [_broken(config, arch, source, task.target, epsilon, part) for epsilon, part in zip(config.breaking, checks, strict=True)]
    needs, half = sample_complexity(spectrum, config.ridge), samples_to_learn(parts, config.ridge)
    enough = samples_for_error(spectrum, parts, config.error, config.ridge, config.noise)
    costs_of_this = {"cpu_seconds": time.process_time() - cpu, "wall_seconds": time.perf_counter() - wall}
    return {
        "architecture": str(arch),
        "kind": config.kind,
        "source": {"name": task.name, "exchangeable": gap is None, "gap": gap},
        "target": _target(config, task.target, curve),
        "shift": config.shift.kind(config.source) if config.task is None else TASKS[config.task].shift or "none",
        "ridge": config.ridge,
        "noise": curve.noise,
        "n_train": list(config.n_train),
        "theory": _theory(curve),
        "finite": None if finite is None else _finite(finite, config.error * parts.variance),
        "finite_note": note,
        "phases": None,
        "gp": None if exact is None else along("n_train", exact.summary()) | {"mean_relative_error": _differences(curve, exact)},
        "net": net,
        "complexity": needs.summary(),
        "half_learned": half,
        "error": {"share": config.error, "samples": enough},
        "breaking": broken,
        "spectrum": spectrum_entry(spectrum),
        "tail": parts.tail,
        **costs_of_this,
        # What the target holds of each eigenspace.
        "irrep": ("row", np.array([str(row.irrep) for row in parts.rows], dtype=str)),
        "level": ("row", parts.levels),
        "eigenvalue": ("row", parts.eigenvalues),
        "degeneracy": ("row", parts.degeneracies),
        "target_weight": ("row", parts.weights),
        "target_weight_stderr": ("row", parts.weights_stderr),
    }


def spectrum_of(config: PredictConfig, arch: Architecture, source: Source, progress: Progress | None = None) -> Spectrum:
    """The spectrum that a configuration asks for."""
    settings: dict[str, Any] = config.model_dump(include={"kind", "max_level", "heads", "sequences", "seed"})
    return spectrum_for_curves(arch, source, **settings, progress=progress)


def task_of(config: PredictConfig, arch: Architecture, spectrum: Spectrum | None = None) -> Task:
    """The task of a configuration; where eigenfunctions are the target, their spectrum is computed unless it is given."""
    if config.task is not None:
        return named_task(config.task, arch.vocab, arch.length, config.seed)
    source = config.build_source(arch)
    if config.target.target == MODES:
        known = spectrum or spectrum_of(config, arch, source)
        target = leading_modes(known, range(config.target.number + 1))
    else:
        target = config.target.build(source, arch.length)
    return Task(source, target, config.shift.build(source, config.source, config.seed), config.source.source)


def _target(config: PredictConfig, target: Target, curve: Curve) -> dict[str, Any]:
    """What is to be learnt, and at which levels it lies."""
    parts = curve.content
    return {
        "name": target.name,
        "outputs": target.outputs,
        "mean_square": parts.total,
        "variance": parts.variance,
        "constant": parts.is_constant,
        "levels": [
            {"level": level, "mean_square": part.total, "half_learned": samples_to_learn(part, config.ridge)}
            for level, part in parts.by_level().items()
        ],
        "unresolved": parts.rest,
        "stderr": float(np.sqrt((parts.weights_stderr**2).sum())),
    }


def _theory(curve: Curve) -> dict[str, Any]:
    """Losses at infinite width."""
    losses = {name: getattr(curve, name) for name in LOSSES}
    losses |= {"equivalent_test": curve.equivalent.test, "equivalent_ood": curve.equivalent.ood}
    levels = {str(level): Along(share, "n_train") for level, share in curve.learned_by_level().items()}
    along_samples = {name: None if values is None else Along(values, "n_train") for name, values in losses.items()}
    return {"n_train": Along(curve.n_train.astype(int), "n_train"), **along_samples, "learned_by_level": levels}


def at_finite_width(
    config: PredictConfig, arch: Architecture, task: Task, progress: Progress | None = None
) -> tuple[AdaptiveCurve | None, str | None]:
    """The curve over the widths of a configuration and those numbers of samples that the theory can follow; and a sentence on what is
    missing, if anything is."""
    if not config.widths:
        return None, None
    try:
        _refuse(config, arch, task)
        numbers = followed(config, arch, task)
        with one_thread():  # its matrices are small: on a busy machine two threads took 80 CPU seconds, one took 1
            curve = adaptive_curve(
                arch, task, numbers, width=config.widths, ridge=config.ridge, noise=config.noise, seed=config.seed, progress=progress
            )
    except InputError as error:
        if config.needs_finite_width:
            raise
        sentence = str(error)
        return None, f"Finite width is left out: {sentence[:1].lower()}{sentence[1:]}"
    if len(numbers) == len(config.n_train):
        return curve, None
    return curve, f"At finite width the curve ends at N = {numbers[-1]}, because its kernel is followed on {SEQUENCES} sampled sequences."


def _refuse(config: PredictConfig, arch: Architecture, task: Task) -> None:
    """Complain where the theory has no answer, or only a slow one that nobody asked for."""
    if config.kind != "nngp":
        raise InputError(f"Its theory is Bayesian and knows no --kind {config.kind}.")
    if config.ridge == 0:
        raise InputError("Its theory takes a ridge, and --ridge is 0.")
    refuse_architecture(arch)
    if config.width is not None or config.phases:
        return
    add = f"add --width {config.widths[0]} to have it."
    if math.isfinite(most_samples(arch, task)):
        raise InputError(f"Its theory is not exact here and takes a minute of sampling; {add}")
    if arch.vocab > (QUICK_VOCAB_MEAN if arch.readout == "mean" else QUICK_VOCAB):
        raise InputError(f"With {arch.vocab} tokens its theory takes a while; {add}")


def refuse_architecture(arch: Architecture) -> None:
    """Complain about an architecture that the theory does not know, before anything is computed."""
    if arch.positions not in ("learned", "none"):
        raise InputError(
            f"The theory of finite width takes positions that are learned, or none, not {arch.positions}: take --positions learned."
        )
    if arch.depth > 1:
        raise InputError(f"The theory of finite width takes one block, and there are {arch.depth}: take --depth 1.")
    if choose_form(arch, "nngp", of_each=True) in SAMPLED_FORMS:
        raise InputError("The theory of finite width takes a kernel in closed form, as linear attention has it, or --scaling tied.")


def followed(config: PredictConfig, arch: Architecture, task: Task) -> list[int]:
    """Those numbers of samples that the theory can follow."""
    most = most_samples(arch, task)
    numbers = [n for n in config.n_train if n <= most]
    if not numbers:
        raise InputError(
            f"The theory of finite width follows {most:g} samples here, and --n-train begins at {config.n_train[0]}: lower it."
        )
    return numbers


def _finite(curve: AdaptiveCurve, loss: float) -> dict[str, Any]:
    """Losses at finite widths, and how many samples the given test loss takes: infinitely many if not within the curve."""
    arch, losses = curve.arch, {name: getattr(curve, name) for name in ("test", "train", "learned", "stderr")}
    changes = [curve.transition(width) for width in curve.width]
    return {
        "method": curve.method,
        # With more positions than half the width the theory, a saddle point, is known to expect too little loss.
        "crowded": bool(arch.positions != "none" and 2 * arch.columns > curve.width[0]),
        "nonlinear": arch.activation != "linear",
        "n_train": Along(curve.n_train.astype(int), "n_train"),
        "width": Along(curve.width.astype(int), "width"),
        **{name: Along(values, ("width", "n_train")) for name, values in losses.items()},
        "ratios": Along(curve.ratios, ("width", "n_train", "variance")),
        "strength": Along(curve.strengths[..., 0], ("width", "n_train")),
        "names": Along(list(curve.names), "variance"),
        "reads": any(name.startswith("position") for name in curve.names),
        "samples": Along([curve.samples_for(loss, width) for width in curve.width], "width"),
        "transition": [{"samples": change.samples, "kind": change.kind} for change in changes],
    }


def _exact(config: PredictConfig, arch: Architecture, task: Task, scale: float, progress: Progress | None) -> MeasuredCurve:
    """Losses of exact Bayesian inference on sampled data."""
    numbers = [n for n in config.n_train if n <= config.check_n]
    settings: dict[str, Any] = config.model_dump(include={"ridge", "noise", "datasets", "seed", "kind"})
    return gp.learning_curve(arch, task, n_train=numbers, scale=scale, progress=progress, **settings)


def _differences(curve: Curve, exact: MeasuredCurve) -> dict[str, float | None]:
    """Mean relative difference between theory and exact inference over the numbers of samples, for each loss that both have."""
    errors = {}
    for name in LOSSES[:3]:
        measured, theory = getattr(exact, name), getattr(curve, name)
        if measured is not None and theory is not None:
            with np.errstate(divide="ignore", invalid="ignore"):  # a loss of zero has no relative error
                errors[name] = plain(float(np.mean(np.abs(theory[: len(measured)] / measured - 1.0))))
    return {name: error for name, error in errors.items() if error is not None}


def _networks(config: PredictConfig, arch: Architecture, task: Task, scale: float, progress: Progress | None) -> dict[str, Any]:
    """Finite networks on sampled data; those that are trained are also asked whether they are in the kernel regime."""
    numbers, chosen = [n for n in config.n_train if n <= config.networks.net_n], config.networks.build(config.network_width)
    trained = config.kind == "ntk"
    first, second = stages(progress, [3.0, 1.0]) if trained else (progress, None)
    settings: dict[str, Any] = {"ridge": config.ridge, "noise": config.noise, "seed": config.seed, "scale": scale, "networks": chosen}
    datasets = config.networks.net_datasets
    curve = networks.learning_curve(arch, task, n_train=numbers, datasets=datasets, kind=config.kind, progress=first, **settings)
    values = along("n_train", curve.summary()) | {"regime": None}
    if trained:
        regime = kernel_regime(arch, task, n_train=numbers[-1], progress=second, **settings)
        fields = ("verdict", "n_train", "loss", "loss_stderr", "kernel_loss", "kernel_change", "kernel_change_stderr", "warning")
        lists = ("levels", "shares", "shares_stderr", "kernel_shares")
        values["regime"] = {name: getattr(regime, name) for name in fields} | {"sentence": str(regime)}
        values["regime"] |= {name: Along(getattr(regime, name), "level") for name in lists}
    return values


def _broken(
    config: PredictConfig, arch: Architecture, source: Any, target: Target, epsilon: float, progress: Progress | None
) -> dict[str, Any]:
    """Theory and exact inference on the source with its order broken; the target stays the same function of the tokens.

    `error` is the mean relative difference over the numbers of samples, positive where theory expects too large a loss. `stderr` is its
    standard error, from the scatter of exact inference over data sets, which share their samples at different sizes.
    """
    broken = order_broken(source, epsilon)
    spectrum, task = spectrum_of(config, arch, broken), Task(broken, target)
    exact = _exact(config, arch, task, spectrum.trace, progress)
    curve = theory_curve(spectrum, task, exact.n_train, config.ridge, config.noise, seed=config.seed)
    if not (exact.test > 0).all():
        raise InputError(
            "The target is learnt without error, so no relative error of the theory can be given: add noise or another target."
        )
    return {
        "epsilon": epsilon,
        "gap": _gap(config, arch, broken),
        "error": float(np.mean(curve.test / exact.test - 1.0)),
        "stderr": float(np.mean(curve.test / exact.test * exact.test_stderr / exact.test)),
        "theory": plain(curve.test),
        "gp": plain(exact.test),
        "gp_stderr": plain(exact.test_stderr),
    }


def _gap(config: PredictConfig, arch: Architecture, source: Source) -> dict[str, Any]:
    """How far from exchangeable a source is."""
    return dataclasses.asdict(exchangeability_gap(source, arch.length, readout=arch.readout, seed=config.seed))
