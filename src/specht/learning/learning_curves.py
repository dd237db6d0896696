"""One question, three answers: the learning curve of a task by theory, by exact inference on sampled data, or by finite networks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, Literal, cast, get_args, overload

import numpy as np

from specht.architecture import Architecture
from specht.checks import finite_number
from specht.errors import InputError, unknown_choice
from specht.learning import exact as gp, networks
from specht.learning.adaptive.curve import AdaptiveCurve
from specht.learning.adaptive.population import adaptive_curve
from specht.learning.curves import Curve, theory_curve
from specht.learning.networks import NetworkCurve
from specht.learning.tally import MeasuredCurve
from specht.learning.target_content import Content, left_over
from specht.progress import Progress
from specht.sequences import Source, Task, check_task, order_forgotten
from specht.spectra import Method, Spectrum, choose_method, spectrum


@dataclasses.dataclass(frozen=True, eq=False)
class Eigenvalues:
    """A kernel by its eigenvalues and a target by its weights, whatever they come from: a paper, a Gram matrix, another kernel.

    >>> import specht
    >>> own = Eigenvalues(values=[0.5, 0.01], degeneracies=[1, 50], weights=[0.2, 0.8])
    >>> specht.learning_curve(own, n_train=[10, 100, 1000], ridge=0.1).test.round(3)
    array([0.72 , 0.029, 0.   ])
    """

    values: Any
    """Distinct eigenvalues of the kernel operator, shape (M,), in any unit."""
    degeneracies: Any
    """How many orthogonal eigenfunctions each of them has, shape (M,)."""
    weights: Any
    """Mean square of the target in the eigenspace of each, shape (M,)."""
    rest: float = 0.0
    """Mean square of the target outside all of them, which is never learnt."""
    trace: float | None = None
    """E[k(x, x)], the unit of the ridge: the sum of degeneracy times eigenvalue unless given. What is left of it lies in functions that are
    not listed, and acts on all others as a ridge."""

    def __post_init__(self) -> None:
        for name in ("values", "degeneracies", "weights"):
            object.__setattr__(self, name, _numbers(name, getattr(self, name)))
        sizes = [len(array) for array in (self.values, self.degeneracies, self.weights)]
        if len(set(sizes)) > 1:
            words = "values, degeneracies and weights must be three lists of one length"
            raise InputError(f"{words}, got {', '.join(map(str, sizes))} numbers: give one of each for every eigenvalue.")
        object.__setattr__(self, "rest", finite_number("rest", self.rest, at_least=0.0))
        total = float(self.values @ self.degeneracies)
        trace = total if self.trace is None else finite_number("trace", self.trace, above=0.0)
        if not trace > 0.0:
            raise InputError("All eigenvalues are zero, so nothing is learnt: give at least one that is positive.")
        if trace < total * (1.0 - 1e-9):
            raise InputError(f"trace must be at least the sum of degeneracy times eigenvalue, {total:.6g}, got {trace:.6g}.")
        object.__setattr__(self, "trace", trace)

    def content(self) -> Content:
        """Turn kernel and target into what the theory takes, in units of the trace."""
        assert self.trace is not None  # set in __post_init__
        eigenvalues = self.values / self.trace
        return Content(
            rows=(),
            eigenvalues=eigenvalues,
            degeneracies=self.degeneracies,
            weights=self.weights,
            weights_stderr=np.zeros(len(self.weights)),
            total=float(self.weights.sum()) + self.rest,
            mean_square=0.0,
            tail=left_over(eigenvalues, self.degeneracies),
        )


def _numbers(name: str, values: Any) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a list of numbers, got {values!r}.") from None
    if array.ndim != 1 or not array.size:
        raise InputError(f"{name} must be a list of at least one number, got an array of shape {array.shape}.")
    if not np.isfinite(array).all() or (array < 0.0).any():
        raise InputError(f"{name} must be finite and not negative, got {array[~(np.isfinite(array) & (array >= 0.0))][0]:g}.")
    return array


By = Literal["theory", "gp", "networks"]
Model = Architecture | Spectrum | Eigenvalues | Callable[..., Any]

_THEORY = ("ridge", "noise", "samples", "seed", "progress")
_SPECTRUM = ("kind", "method", "max_level", "heads", "sequences")
_FINITE = ("ridge", "noise", "seed", "sequences", "width", "progress")
"""Options of the theory of an architecture at finite width."""
_DATASETS = ("ridge", "noise", "datasets", "seed", "n_test", "scale", "progress")
_OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "theory": {"Spectrum": _THEORY, "Architecture": (*_THEORY, *_SPECTRUM, "width"), "Eigenvalues": ("ridge", "noise")},
    "gp": {
        "Spectrum": (*_DATASETS, "heads"),
        "Architecture": (*_DATASETS, "heads", "kind"),
        "Gram function": (*_DATASETS, "columns"),
    },
    "networks": {
        "Spectrum": (*_DATASETS, "networks", "diagnose"),
        "Architecture": (*_DATASETS, "networks", "diagnose", "kind"),
    },
}
"""Options by answer and by what the model is given as."""
_FORMS = {"Spectrum": "a Spectrum", "Architecture": "an Architecture", "Eigenvalues": "Eigenvalues", "Gram function": "a Gram function"}


@overload
def learning_curve(
    model: Architecture, task: Task, n_train: Any = None, *, width: Any, by: Literal["theory"] = "theory", **options: Any
) -> AdaptiveCurve: ...
@overload
def learning_curve(
    model: Model, task: Task | Content | None = None, n_train: Any = None, *, by: Literal["theory"] = "theory", **options: Any
) -> Curve: ...
@overload
def learning_curve(model: Model, task: Task, n_train: Any = None, *, by: Literal["gp"], **options: Any) -> MeasuredCurve: ...
@overload
def learning_curve(model: Model, task: Task, n_train: Any = None, *, by: Literal["networks"], **options: Any) -> NetworkCurve: ...
def learning_curve(model: Model, task: Any = None, n_train: Any = None, *, by: By = "theory", **options: Any) -> Any:
    """Losses of a model on a task against the number of samples.

    >>> import specht
    >>> source = specht.sources.uniform(2)
    >>> arch = specht.Architecture(vocab=2, length=8)
    >>> task = specht.Task(source, specht.targets.level(1, length=8, source=source))
    >>> learning_curve(arch, task, n_train=[16, 64, 256], ridge=0.1).test.round(3)
    array([0.315, 0.018, 0.001])
    >>> learning_curve(arch, task, n_train=[16, 64, 256], by="gp", ridge=0.1, datasets=5).test.round(3)
    array([0.27 , 0.021, 0.001])
    >>> learning_curve(arch, task, n_train=[16, 64, 256], ridge=0.1, width=16).test.round(3)
    array([0.152, 0.003, 0.   ])

    Arguments:
        model: an `Architecture`; its `Spectrum`, where you have it; with by="theory" also `Eigenvalues` of your own, which hold the target
            too, so that `task` is left out; with by="gp" also any Gram function `gram(x, y=None)`.
        task: what is learnt, from which sequences; with by="theory" also its content (`specht.learning.target_content`).
        n_train: numbers of samples.
        by: "theory", before training, in milliseconds (`specht.learning.curves`); "gp", exact Bayesian inference on sampled datasets
            (`specht.learning.exact`); "networks", networks of finite width, sampled or trained (`specht.learning.networks`).
        ridge: label variance that is assumed, in units of E[k(x, x)]; 1 unless given.
        noise: variance of noise on each label, besides what the task has itself; 0 unless given.
        seed: seed of everything random.
        progress: called as progress(done, total).
        kind: "nngp" or "ntk", of an architecture.
        samples: by theory: sequences drawn where the target has to be decomposed by sampling.
        width: by theory, of an architecture: width of the embedding, which then adapts to the target (`learning.adaptive.population`); one
            or several. Infinite unless given. With it go ridge, noise, seed, and `sequences` where the kernel has to be sampled.
        method, max_level, heads, sequences: by theory, of an architecture: how its spectrum is computed, as in `specht.spectrum`.
        datasets, n_test: by "gp" and "networks": datasets that are averaged over, and fresh sequences for each.
        scale: by "gp" and "networks": E[k(x, x)]; the trace of a spectrum where one is given, otherwise estimated.
        heads: by "gp", of a sampled kernel.
        columns: by "gp", with a Gram function: tokens of a sequence.
        networks, diagnose: by "networks": which networks, how they are trained, and whether chains are diagnosed.
    """
    if by not in get_args(By):
        raise unknown_choice("way to get a learning curve", by, get_args(By))
    form = _form(model, by)
    _check_options(options, by, form)
    if n_train is None:
        raise InputError("n_train is missing: give one number of samples or a list of them.")
    if isinstance(model, Eigenvalues):
        if task is not None:
            raise InputError("Eigenvalues hold the weights of their target, so there is no task beside them: leave task out.")
        return theory_curve(None, model.content(), n_train, **options)
    if not (by == "theory" and isinstance(model, Spectrum) and isinstance(task, Content)):
        check_task(task)
    if "width" in options:
        return _at_finite_width(cast(Architecture, model), cast(Task, task), n_train, options)
    if by == "theory":
        return _by_theory(model, task, n_train, options)
    if isinstance(model, Spectrum):
        options = {"scale": model.trace, "kind": model.kind} | options
        model = model.arch
    return (gp if by == "gp" else networks).learning_curve(cast(Any, model), cast(Task, task), n_train=n_train, **options)


def spectrum_for_curves(
    arch: Architecture,
    source: Source,
    *,
    kind: Any = "nngp",
    method: Method = "auto",
    max_level: int | None = None,
    progress: Progress | None = None,
    **sampling: Any,
) -> Spectrum:
    """The spectrum over the source, its order forgotten; sampled with several eigenvalues of each irrep where it is not exact."""
    law = order_forgotten(source, arch.columns)
    if method == "auto":
        method = choose_method(arch, law, kind, max_level)
        method = "ritz" if method == "rayleigh" else method  # learning curves need more than the top eigenvalues
    return spectrum(arch, law, kind=kind, method=method, max_level=max_level, progress=progress, **sampling)


def _by_theory(model: Any, task: Any, n_train: Any, options: dict[str, Any]) -> Curve:
    if isinstance(model, Spectrum):
        return theory_curve(model, task, n_train, **options)
    check_task(task, model.vocab)
    of_spectrum = {name: value for name, value in options.items() if name in (*_SPECTRUM, "seed", "progress")}
    rest = {name: value for name, value in options.items() if name not in (*_SPECTRUM, "progress")}
    return theory_curve(spectrum_for_curves(model, task.source, **of_spectrum), task, n_train, **rest)


def _at_finite_width(arch: Architecture, task: Task, n_train: Any, options: dict[str, Any]) -> AdaptiveCurve:
    for name, value in options.items():
        if name not in _FINITE:
            raise InputError(f"{name}={value!r} has no meaning at finite width: leave it out, or leave out width.")
    settings: dict[str, Any] = {"ridge": 1.0} | options
    return adaptive_curve(arch, task, n_train, **settings)


def _form(model: Any, by: str) -> str:
    """What the model is given as, if that suits the answer."""
    kinds: dict[str, Any] = {"Spectrum": Spectrum, "Architecture": Architecture, "Eigenvalues": Eigenvalues}
    form = next((name for name, kind in kinds.items() if isinstance(model, kind)), "Gram function" if callable(model) else "")
    if form not in _OPTIONS[by]:
        got = _FORMS[form] if form else repr(model)
        raise InputError(f"by={by!r} takes {_or(_FORMS[name] for name in _OPTIONS[by])}, got {got}: give one of these.")
    return form


def _check_options(options: dict[str, Any], by: str, form: str) -> None:
    for name, value in options.items():
        if name in _OPTIONS[by][form]:
            continue
        others = [way for way, forms in _OPTIONS.items() if way != by and any(name in known for known in forms.values())]
        same = [other for other, known in _OPTIONS[by].items() if name in known]
        if same:
            raise InputError(
                f"{name}={value!r} does not go with {_FORMS[form]}, but with {_or(_FORMS[name] for name in same)}: leave it out."
            )
        if others:
            ways = _or(f"by={way!r}" for way in others)
            raise InputError(f"{name}={value!r} has no meaning with by={by!r}: leave it out, or choose {ways}.")
        raise unknown_choice("argument", name, ("task", "n_train", "by", *_OPTIONS[by][form]))


def _or(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last
