"""Time of training attention that selects tokens, against PyTorch, and of its exact dynamics.

    python benchmarks/selection.py            # about two minutes
    python benchmarks/selection.py --quick    # fewer steps, without the largest case

Prints one JSON object a line. "T=50" and "T=200": `milliseconds` of CPU time for one step on one thread, the minimum of several runs after
compilation, of gradient descent with stochastic codes on batches of 256 fresh samples, all of it counted: samples, codes, dual queries,
attention and its gradient.

    train        `specht.nn.training.train`
    torch        the same step in eager PyTorch, with samples drawn by PyTorch

The second needs PyTorch, which Specht does not: without it a line says so. Both must first make the same matrices from the same samples and
codes. "recursion": exact population dynamics with one-hot codes for a sequence of a million tokens, millions of steps a second, and a
thousand lengths up to a million at once; "closed forms": the end of every phase at a thousand lengths, in milliseconds. `met` says which
targets a line meets, and the exit code is 1 when one is missed.
"""

from common import measure, print_line, run  # isort: skip -- first, because it sets the number of threads

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from specht.nn.data import Fresh
from specht.nn.training import train
from specht.studies.selection.codes_theory import draw_pool, stochastic_dynamics
from specht.studies.selection.model import SelectionModel, drawing, selection_forward
from specht.studies.selection.task import Selection
from specht.studies.selection.theory import one_hot_dynamics, phases
from specht.studies.selection.training import SelectionTraining

try:
    import torch
except ImportError:
    torch = None

BATCH = 256
MILLION = 10**6
CHECKED_STEPS = 5
"""Steps after which matrices are compared."""
RATE = 1.0


def report(quick: bool) -> None:
    if torch is None:
        print_line("torch", missing="PyTorch is not installed: training is timed alone.")
    else:
        torch.set_num_threads(1)
    for length, code, steps in ((50, 64, 400), (200, 170, 100)):
        report_training(Selection(length, 3, 5), code, steps // 2 if quick else steps, runs=1 if quick else 3)
    report_recursion(10**6 if quick else 10**7)
    report_pool(200 if quick else 1000)


def report_training(task: Selection, code: int, steps: int, runs: int) -> None:
    competitors: dict[str, Callable[[], Any]] = {"train": partial(with_train, task, code, steps)}
    if torch is not None:
        check_same_work(task, code)
        competitors["torch"] = partial(with_torch, task, code, steps)
    # In turns, so that what else happens on the machine hits all of them.
    rounds = [{name: cpu_seconds(function) for name, function in competitors.items()} for _ in range(runs + 1)]
    times = {name: 1e3 * min(each[name] for each in rounds[1:]) / steps for name in competitors}  # the first compiles
    faster = {name: each / times["train"] for name, each in times.items() if name != "train"}
    print_line(
        f"T={task.length}",
        code=code,
        batch=BATCH,
        steps=steps,
        runs=runs,
        milliseconds=times,
        steps_per_second={name: 1e3 / each for name, each in times.items()},
        times_faster=faster,
        compile=rounds[0]["train"] - times["train"] * steps / 1e3,
        met={f"0.8 times the speed of {name}": each >= 0.8 for name, each in faster.items()},
    )


def report_recursion(steps: int) -> None:
    """A rate of a thousandth of the length would do as well: the cost is that of a step."""
    alone = measure(lambda: one_hot_dynamics(MILLION, 3, 5, learning_rate=1.0, steps=steps, records=50), runs=1)
    lengths = np.unique(np.geomspace(10, MILLION, 1000).astype(int))
    many = measure(lambda: one_hot_dynamics(lengths, 3, 5, learning_rate=1.0, steps=steps // 100, records=50), runs=1)
    closed = measure(lambda: phases(lengths, 3, 5, 1.0))
    print_line(
        "recursion",
        length=MILLION,
        steps=steps,
        seconds=alone.seconds,
        million_steps_per_second=steps / alone.seconds / 1e6,
        lengths=len(lengths),
        nanoseconds_a_step_and_length=1e9 * many.seconds / (steps // 100 * len(lengths)),
        met={"10^7 steps at T = 10^6 within 5 seconds": alone.seconds * 10**7 / steps <= 5.0},
    )
    print_line("closed forms", lengths=len(lengths), milliseconds=1e3 * closed.seconds)


def report_pool(steps: int) -> None:
    pool = draw_pool(np.random.default_rng(0), 50, 3, 64, draws=1500)
    found = measure(lambda: stochastic_dynamics(pool, 5, learning_rate=1.0, steps=steps, records=5), runs=1)
    print_line("pool", length=50, draws=1500, steps=steps, milliseconds=1e3 * found.seconds / steps)


def cpu_seconds(function: Callable[[], Any]) -> float:
    begin = time.process_time()
    function()
    return time.process_time() - begin


def with_train(task: Selection, code: int, steps: int) -> Any:
    setting = SelectionTraining(task=task, code=code, learning_rate=RATE, steps=steps, records=1)
    return train(setting.start, Fresh(drawing(task)), setting.recipe(), forward=selection_forward)


def torch_step(matrices: Any, tokens: Any, chosen: Any, codes: Any) -> None:
    """One step of gradient descent on half the mean squared error, as it would be written in PyTorch."""
    W, V = matrices
    d = len(V)
    members = codes.T[chosen]  # (n, q, m)
    gram = members @ members.transpose(1, 2)
    dual = torch.linalg.solve(gram, torch.ones(gram.shape[:2]))
    sought = torch.einsum("nqm,nq->nm", members, dual) @ W[:, d:].T
    scores = torch.einsum("ntd,nd->nt", tokens, sought[:, :d]) + sought[:, d:] @ codes
    p = scores.softmax(dim=-1)
    output = torch.einsum("ntd,nt->nd", tokens, p) @ V[:, :d].T + (p @ codes.T) @ V[:, d:].T
    target = torch.take_along_dim(tokens, chosen[..., None], dim=1).mean(dim=1)
    loss = 0.5 * ((output - target) ** 2).sum(dim=1).mean()
    for matrix, gradient in zip(matrices, torch.autograd.grad(loss, matrices), strict=True):
        matrix.data -= RATE * gradient


def with_torch(task: Selection, code: int, steps: int) -> Any:
    d, T, q = task.dimension, task.length, task.support
    matrices = [torch.zeros(d + code, d + code, requires_grad=True), torch.zeros(d, d + code, requires_grad=True)]
    for _ in range(steps):
        chosen = torch.rand(BATCH, T).topk(q, dim=1).indices
        codes = (2.0 * torch.randint(2, (code, T)) - 1.0) / code**0.5
        torch_step(matrices, torch.randn(BATCH, T, d), chosen, codes)
    return matrices


def check_same_work(task: Selection, code: int) -> None:
    """A few steps on the same samples and codes, from the same small matrices."""
    setting = SelectionTraining(task=task, code=code, codes="fixed", learning_rate=RATE, steps=CHECKED_STEPS, scale=0.05, records=1)
    found = train(setting.start, Fresh(drawing(task)), setting.recipe(), forward=selection_forward)
    first: SelectionModel = found.first_model()
    rows, _ = drawing(task)(np.random.default_rng(np.random.SeedSequence(0, spawn_key=(0,))), CHECKED_STEPS * BATCH)
    codes = torch.from_numpy(np.array(first.position_codes(task.length, jax.random.key(0))))
    matrices = [torch.tensor(np.array(matrix), requires_grad=True) for matrix in (first.keys, first.values)]
    for block in rows.reshape(CHECKED_STEPS, BATCH, -1):
        tokens = torch.from_numpy(block[:, : task.length * task.dimension].reshape(BATCH, task.length, task.dimension))
        chosen = torch.from_numpy(block[:, task.length * task.dimension : -1].astype(np.int64))
        torch_step(matrices, tokens, chosen, codes)
    last: SelectionModel = found.model()
    for ours, theirs in zip((last.keys, last.values), matrices, strict=True):
        gap = float(jnp.abs(ours - theirs.detach().numpy()).max())
        assert gap < 1e-4, f"matrices differ by {gap} after {CHECKED_STEPS} steps"


if __name__ == "__main__":
    raise SystemExit(run(report, __doc__))
