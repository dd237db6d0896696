"""A learning curve before training: architecture, data and target in, losses and sample complexity out."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from specht.errors import InputError
from specht.lab.csv_text import csv_text
from specht.lab.finite_width import FiniteWidth, at_finite_width, refuse_architecture
from specht.lab.phase_job import Phases
from specht.lab.predict_config import PredictConfig
from specht.lab.predict_task import spectrum_of, task_of
from specht.learning import exact as gp, networks
from specht.learning.complexity import SampleComplexity, sample_complexity, samples_for_error, samples_to_learn
from specht.learning.content import content
from specht.learning.curves import Curve, theory_curve
from specht.learning.losses import LOSSES
from specht.learning.networks import NetworkCurve
from specht.learning.regime import Regime, kernel_regime
from specht.progress import Progress, stages
from specht.results import plain
from specht.sequences.exchangeability import Gap, exchangeability_gap
from specht.sequences.mixtures import order_broken
from specht.sequences.tasks import TASKS, Task
from specht.spectra.entries import spectrum_entry
from specht.spectra.spectrum import Spectrum

if TYPE_CHECKING:
    from specht.architecture import Architecture
    from specht.sequences.hmm import MixtureOfHMMs
    from specht.sequences.targets import Target


@dataclasses.dataclass(frozen=True)
class Broken:
    """How far theory is from exact inference on a source whose order matters."""

    epsilon: float
    gap: Gap
    theory: np.ndarray
    exact: np.ndarray
    exact_stderr: np.ndarray
    """Test loss at each number of samples."""

    @property
    def error(self) -> float:
        """Mean relative difference over the numbers of samples, with its sign: positive where theory expects too large a loss."""
        return float(np.mean(self.theory / self.exact - 1.0))

    @property
    def stderr(self) -> float:
        """Standard error of it, from the scatter of exact inference over data sets, which share their samples at different sizes."""
        return float(np.mean(self.theory / self.exact * self.exact_stderr / self.exact))


@dataclasses.dataclass(frozen=True)
class Prediction:
    """What a run computed, and what it cost."""

    config: PredictConfig
    arch: Architecture
    spectrum: Spectrum
    task: Task
    gap: Gap | None
    """How far from exchangeable the source is; None if it is exchangeable."""
    curve: Curve
    needs: SampleComplexity
    half: float
    """Samples from which half of the target is learnt."""
    for_error: float
    """Samples from which on the test loss stays below the asked error."""
    finite: FiniteWidth | None
    """The same at finite widths."""
    finite_note: str | None
    """What of it is missing, in a sentence."""
    exact: gp.MeasuredCurve | None
    net: NetworkCurve | None
    regime: Regime | None
    """Of trained networks, at the largest number of samples they were trained on."""
    broken: tuple[Broken, ...]
    cpu_seconds: float
    wall_seconds: float
    phases: Phases | None = None
    """Over samples and width, and over samples and length; computed apart, cell by cell."""

    def summary(self) -> dict[str, Any]:
        curve, parts = self.curve, self.curve.content
        theory = {name: value for name, value in curve.summary().items() if name not in ("n_train", "ridge")}
        return {
            "architecture": str(self.arch),
            "kind": self.spectrum.kind,
            "source": {
                "name": self.task.name,
                "exchangeable": self.gap is None,
                "gap": None if self.gap is None else dataclasses.asdict(self.gap),
            },
            "target": {
                "name": self.task.target.name,
                "outputs": self.task.target.outputs,
                "mean_square": parts.total,
                "variance": parts.variance,
                "constant": parts.is_constant,
                "levels": [
                    {"level": level, "mean_square": part.total, "half_learned": plain(samples_to_learn(part, self.config.ridge))}
                    for level, part in parts.by_level().items()
                ],
                "unresolved": parts.rest,
                "stderr": float(np.sqrt((parts.weights_stderr**2).sum())),
            },
            "shift": self.shift,
            "ridge": self.config.ridge,
            "noise": curve.noise,
            "n_train": [int(n) for n in curve.n_train],
            "theory": theory,
            "finite": None if self.finite is None else self.finite.summary(),
            "finite_note": self.finite_note,
            "phases": None if self.phases is None else self.phases.summary(),
            "gp": None if self.exact is None else self._gp(self.exact),
            "net": None if self.net is None else self.net.summary() | {"regime": None if self.regime is None else _regime(self.regime)},
            "complexity": self.needs.summary(),
            "half_learned": plain(self.half),
            "error": {"share": self.config.error, "samples": plain(self.for_error)},
            "breaking": [_broken(each) for each in self.broken],
            "spectrum": spectrum_entry(self.spectrum),
            "tail": parts.tail,
            "cpu_seconds": self.cpu_seconds,
            "wall_seconds": self.wall_seconds,
        }

    @property
    def shift(self) -> str:
        """How the test law differs from the training law."""
        if self.config.task is not None:
            return TASKS[self.config.task].shift or "none"
        return self.config.shift.kind(self.config.source)

    def _gp(self, exact: gp.MeasuredCurve) -> dict[str, Any]:
        return exact.summary() | {
            "mean_relative_error": {name: error for name in LOSSES[:3] if (error := self._mean_error(name)) is not None}
        }

    def _mean_error(self, loss: str) -> float | None:
        """Mean relative difference between theory and exact inference over the numbers of samples."""
        assert self.exact is not None
        measured, theory = getattr(self.exact, loss), getattr(self.curve, loss)
        if measured is None or theory is None:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):  # a loss of zero has no relative error
            return plain(float(np.mean(np.abs(theory[: len(measured)] / measured - 1.0))))

    def lines(self) -> list[dict[str, Any]]:
        """One line for each number of samples."""
        finite = {} if self.finite is None else self.finite.columns()
        theory = {f"theory_{name}": getattr(self.curve, name) for name in LOSSES} | {"equivalent_test": self.curve.equivalent.test}
        measured = {
            f"{prefix}_{name}{end}": getattr(curve, name + end)
            for prefix, curve in (("gp", self.exact), ("net", None if self.net is None else self.net.curve))
            if curve is not None
            for name in LOSSES
            for end in ("", "_stderr")
        }
        columns = theory | finite | measured
        return [
            {"n_train": int(n)}
            | {name: float(values[i]) if values is not None and i < len(values) else None for name, values in columns.items()}
            for i, n in enumerate(self.curve.n_train)
        ]

    def csv(self) -> str:
        lines = self.lines()
        return csv_text(list(lines[0]), lines)

    def dataset(self, attributes: dict[str, Any]) -> xarray.Dataset:
        """Losses along `n_train`, at finite width along `width` too, the spectrum and the target's content along `row`, phases apart."""
        lines, parts = self.lines(), self.curve.content
        apart = {"n_train"} if self.finite is None else {"n_train", *self.finite.columns()}
        losses = {name: ("n_train", np.array([line[name] for line in lines], dtype=float)) for name in lines[0] if name not in apart}
        rows = {
            "eigenvalue": ("row", parts.eigenvalues),
            "degeneracy": ("row", parts.degeneracies),
            "target_weight": ("row", parts.weights),
            "target_weight_stderr": ("row", parts.weights_stderr),
        }
        coordinates = {
            "n_train": [line["n_train"] for line in lines],
            "irrep": ("row", [str(row.irrep) for row in parts.rows]),
            "level": ("row", parts.levels),
        }
        if self.finite is not None:
            losses |= self.finite.variables(self.curve.n_train)
            coordinates |= self.finite.coordinates()
        if self.phases is not None:
            losses |= self.phases.variables()
            coordinates |= self.phases.coordinates()
        costs = {"cpu_seconds": self.cpu_seconds, "wall_seconds": self.wall_seconds}
        return xarray.Dataset(losses | rows, coords=coordinates, attrs=attributes | costs)


def run_predict(config: PredictConfig, progress: Progress | None = None) -> Prediction:
    """Predict the learning curve of a configuration, and check it where that is asked for."""
    cpu, wall = time.process_time(), time.perf_counter()
    arch = config.architecture.architecture()
    if config.needs_finite_width:
        refuse_architecture(arch)
    source = config.build_source(arch)
    costs = [{"gp": 1.0, "net": 20.0}[name] for name in sorted(config.check)]
    first, second, *checks = stages(progress, [1.0, 1.0 if config.widths else 0.0, *costs, *([1.0] * len(config.breaking))])
    found = spectrum_of(config, arch, source, first)
    task = task_of(config, arch, found)
    curve = theory_curve(found, content(found, task, seed=config.seed), config.n_train, config.ridge, config.noise)
    gap = None if source.is_exchangeable else exchangeability_gap(source, arch.length, readout=arch.readout, seed=config.seed)
    finite, note = at_finite_width(config, arch, task, curve.content.variance, second)
    exact = None
    if "gp" in config.check:
        exact = _exact(config, arch, task, found.trace, checks.pop(0))
    net = regime = None
    if "net" in config.check:
        net, regime = _networks(config, arch, task, found.trace, checks.pop(0))
    broken = []
    for epsilon, part in zip(config.breaking, checks, strict=True):
        broken.append(_breaking(config, arch, source, task.target, epsilon, part))
    return Prediction(
        config,
        arch,
        found,
        task,
        gap,
        curve,
        sample_complexity(found, config.ridge),
        samples_to_learn(curve.content, config.ridge),
        samples_for_error(found, curve.content, config.error, config.ridge, config.noise),
        finite,
        note,
        exact,
        net,
        regime,
        tuple(broken),
        time.process_time() - cpu,
        time.perf_counter() - wall,
    )


def _exact(config: PredictConfig, arch: Architecture, task: Task, scale: float, progress: Progress | None) -> gp.MeasuredCurve:
    numbers = [n for n in config.n_train if n <= config.check_n]
    return gp.learning_curve(
        arch,
        task,
        n_train=numbers,
        ridge=config.ridge,
        noise=config.noise,
        datasets=config.datasets,
        seed=config.seed,
        kind=config.kind,
        scale=scale,
        progress=progress,
    )


def _networks(
    config: PredictConfig, arch: Architecture, task: Task, scale: float, progress: Progress | None
) -> tuple[NetworkCurve, Regime | None]:
    """Finite networks on sampled data; those that are trained are also asked whether they are in the kernel regime."""
    numbers, chosen = [n for n in config.n_train if n <= config.networks.net_n], config.networks.build(config.network_width)
    first, second = stages(progress, [3.0, 1.0]) if config.kind == "ntk" else (progress, None)
    settings: dict[str, Any] = {"ridge": config.ridge, "noise": config.noise, "seed": config.seed, "scale": scale, "networks": chosen}
    datasets = config.networks.net_datasets
    found = networks.learning_curve(arch, task, n_train=numbers, datasets=datasets, kind=config.kind, progress=first, **settings)
    if config.kind == "nngp":
        return found, None
    return found, kernel_regime(arch, task, n_train=numbers[-1], progress=second, **settings)


def _breaking(config: PredictConfig, arch: Architecture, source: Any, target: Target, epsilon: float, progress: Progress | None) -> Broken:
    """Theory and exact inference on the source with its order broken; the target stays the same function of the tokens."""
    broken: MixtureOfHMMs = order_broken(source, epsilon)
    found = spectrum_of(config, arch, broken)
    task = Task(broken, target)
    exact = _exact(config, arch, task, found.trace, progress)
    curve = theory_curve(found, task, exact.n_train, config.ridge, config.noise, seed=config.seed)
    if not (exact.test > 0).all():
        raise InputError(
            "The target is learnt without error, so no relative error of the theory can be given: add noise or another target."
        )
    gap = exchangeability_gap(broken, arch.length, readout=arch.readout, seed=config.seed)
    return Broken(epsilon, gap, curve.test, exact.test, exact.test_stderr)


def _regime(regime: Regime) -> dict[str, Any]:
    names = ("verdict", "n_train", "loss", "loss_stderr", "kernel_loss", "kernel_change", "kernel_change_stderr", "warning")
    values = {name: getattr(regime, name) for name in names}
    fields = {name: plain(value) if isinstance(value, float) else value for name, value in values.items()}
    fields |= {"sentence": str(regime), "levels": list(regime.levels)}
    return fields | {name: plain(getattr(regime, name)) for name in ("shares", "shares_stderr", "kernel_shares")}


def _broken(each: Broken) -> dict[str, Any]:
    return {
        "epsilon": each.epsilon,
        "gap": dataclasses.asdict(each.gap),
        "error": each.error,
        "stderr": each.stderr,
        "theory": plain(each.theory),
        "gp": plain(each.exact),
        "gp_stderr": plain(each.exact_stderr),
    }
