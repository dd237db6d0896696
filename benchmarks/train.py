"""Time of training many small transformers, against a Python loop of compiled steps and against PyTorch.

    python benchmarks/train.py            # about three minutes
    python benchmarks/train.py --quick    # fewer steps, one run

Prints one JSON object a line: `milliseconds` of CPU time for one step of one seed, on one thread, the minimum of several runs after
compilation (`runs`), of one residual block with softmax attention, by AdamW on the squared loss of one fixed batch:

    train        `specht.nn.training.train`, all seeds, the whole call
    python_loop  one jitted step of the same network, called again and again; some seeds, one after the other, and their steps alone
    eager        the same in PyTorch
    torch_func   PyTorch, all seeds at once by `torch.func.vmap`; steps alone

The last two need PyTorch, which Specht does not: without it a line says so. All of them must first make the same weights from the same
start. `once_a_seed` is what a training of a single step takes a seed, in milliseconds, and `compile` the first call of `train` less a later
one, in seconds. "second start" is the first call in a new process, with an empty and with a filled cache of compiled programs. `met` says
which targets a line meets, and the exit code is 1 when one is missed.
"""

from common import print_line, run  # isort: skip -- first, because it sets the number of threads

import os

CACHE_VARIABLE, THRESHOLD_VARIABLE = "JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"
if __name__ == "__main__":
    os.environ.pop(CACHE_VARIABLE, None)  # the first call is to compile

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import optax

import specht
from specht.nn.data import Fixed
from specht.nn.network import Network, Size
from specht.nn.recipe import Recipe
from specht.nn.trained import Trained
from specht.nn.training import train

try:
    import torch
except ImportError:
    torch = None

VOCAB = 8
RATE, DECAY = 1e-3, 0.01
CHECKED_STEPS = 3
"""Steps after which weights are compared."""


class Workload(NamedTuple):
    name: str
    batch: int
    columns: int
    size: Size
    seeds: int
    steps: int
    """Of `train`; the others take fewer, since time is counted by the step."""
    fewer: int
    chunk: int
    """Runs that `train` trains side by side: very small networks gain by it, and nothing else does on a processor."""
    singly: int
    """Seeds that are trained one after the other where all would take too long."""

    def start(self, key: Any) -> Network:
        arch = specht.Architecture(vocab=VOCAB, length=self.columns - 1, attention="softmax", activation="relu", residual=True)
        return Network.init(arch, self.size, key=key, parametrisation="standard")  # no scales, as in PyTorch

    def networks(self, seeds: int) -> list[Network]:
        """The same first weights as those of `train`."""
        return [self.start(jax.random.split(jax.random.key(seed))[0]) for seed in range(seeds)]

    def data(self) -> Fixed:
        rng = np.random.default_rng(0)
        x = rng.integers(VOCAB, size=(self.batch, self.columns)).astype(np.int32)
        return Fixed(x, rng.normal(size=(self.batch, 1)).astype(np.float32))


WORKLOADS = [
    Workload("tiny", batch=16, columns=4, size=Size(16, 2, 8), seeds=64, steps=1000, fewer=50, chunk=8, singly=8),
    Workload("small", batch=64, columns=16, size=Size(32, 4, 8), seeds=64, steps=200, fewer=10, chunk=1, singly=8),
    Workload("medium", batch=64, columns=16, size=Size(128, 8, 16), seeds=16, steps=50, fewer=10, chunk=1, singly=8),
]


def report(quick: bool) -> None:
    if torch is None:
        print_line("torch", missing="PyTorch is not installed: only the Python loop is compared.")
    else:
        torch.set_num_threads(1)
    for load in WORKLOADS:
        report_steps(load._replace(steps=load.steps // 2) if quick else load, runs=1 if quick else 3)
    report_second_start()


def report_steps(load: Workload, runs: int) -> None:
    """What a step of a seed costs with each competitor."""
    first = cpu_seconds(partial(with_train, load, load.steps))
    check_same_work(load)
    competitors: dict[str, tuple[Callable[[], Any], int]] = {
        "train": (partial(with_train, load, load.steps), load.seeds * load.steps),
        "one_step": (partial(with_train, load, 1), load.seeds),
        "python_loop": (partial(python_loop(load, load.singly), load.fewer), load.singly * load.fewer),
    }
    if torch is not None:
        competitors["eager"] = (partial(eager(load, load.singly), load.fewer), load.singly * load.fewer)
        competitors["torch_func"] = (partial(torch_func(load, load.seeds), load.fewer), load.seeds * load.fewer)
    # In turns, so that what else happens on the machine hits all of them.
    rounds = [{name: cpu_seconds(function) / steps for name, (function, steps) in competitors.items()} for _ in range(runs + 1)]
    times = {name: 1e3 * min(each[name] for each in rounds[1:]) for name in competitors}  # the first compiles
    once = times.pop("one_step")
    faster = {name: each / times["train"] for name, each in times.items() if name != "train"}
    targets = {"torch_func": 0.8} | ({"python_loop": 8.0, "eager": 15.0} if load.name == "tiny" else {})
    print_line(
        load.name,
        batch=load.batch,
        columns=load.columns,
        width=load.size.width,
        seeds=load.seeds,
        steps=load.steps,
        chunk=load.chunk,
        runs=runs,
        milliseconds=times,
        once_a_seed=once,
        times_faster=faster,
        compile=first - min(each["train"] for each in rounds) * load.seeds * load.steps,
        met={f"{target:g} times the speed of {name}": faster[name] >= target for name, target in targets.items() if name in faster},
    )


def report_second_start() -> None:
    """The first call in a new process, with and without programs that an earlier one has compiled."""
    command = [sys.executable, "-c", "import train; print(train.first_call())"]
    with tempfile.TemporaryDirectory() as folder:
        path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
        environment = os.environ | {CACHE_VARIABLE: folder, THRESHOLD_VARIABLE: "0", "PYTHONPATH": path}
        cold, warm = (float(subprocess.check_output(command, env=environment, text=True)) for _ in range(2))
    ratio = cold / warm
    print_line("second start", cold=cold, warm=warm, times_faster=ratio, met={"4 times faster": ratio >= 4})


def first_call() -> float:
    """CPU seconds of the first training in this process."""
    return cpu_seconds(partial(with_train, WORKLOADS[0], 10))


def cpu_seconds(function: Callable[[], Any]) -> float:
    begin = time.process_time()
    function()
    return time.process_time() - begin


def check_same_work(load: Workload) -> None:
    """All competitors give the same outputs, and the same weights after some steps of two seeds."""
    x, trained = load.data().x, with_train(load._replace(seeds=2), CHECKED_STEPS)
    ours = [jax.tree.map(lambda leaf, seed=seed: leaf[0, 0, seed], trained.models) for seed in range(2)]
    assert_close(python_loop(load, 2)(CHECKED_STEPS), [jax.tree.leaves(each) for each in ours])
    if torch is None:
        return
    network = load.networks(1)[0]
    np.testing.assert_allclose(Transformer(network)(torch.from_numpy(x).long()).detach(), network(x), rtol=1e-4, atol=1e-4)
    expected = [Transformer(each).matrices() for each in ours]
    assert_close(eager(load, 2)(CHECKED_STEPS), expected)
    assert_close(zip(*torch_func(load, 2)(CHECKED_STEPS), strict=True), expected)


def assert_close(found: Iterable[Iterable[Any]], expected: Iterable[Iterable[Any]]) -> None:
    """Arrays of several seeds, those of NumPy, JAX or PyTorch."""
    for one, other in zip(found, expected, strict=True):
        for left, right in zip(one, other, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-4)


def with_train(load: Workload, steps: int) -> Trained:
    recipe = Recipe(steps=steps, learning_rate=RATE, optimiser="adamw", weight_decay=DECAY, records=1)
    return train(load.start, load.data(), recipe, seeds=range(load.seeds), chunk=load.chunk)


OPTIMISER = optax.adamw(RATE, weight_decay=DECAY)


@jax.jit
def jitted_step(network: Network, moments: Any, x: Any, y: Any) -> tuple[Network, Any]:
    gradient = jax.grad(lambda network: ((network(x) - y) ** 2).mean())(network)
    updates, moments = OPTIMISER.update(gradient, moments, network)
    return optax.apply_updates(network, updates), moments


def python_loop(load: Workload, seeds: int) -> Callable[[int], list[list[Any]]]:
    """Ready to train; so are the next two, so that only their steps are timed."""
    x, y = jax.numpy.asarray(load.data().x), jax.numpy.asarray(load.data().y)
    begun = [(network, OPTIMISER.init(network)) for network in load.networks(seeds)]

    def go(steps: int) -> list[list[Any]]:
        found = []
        for network, moments in begun:
            for _ in range(steps):
                network, moments = jitted_step(network, moments, x, y)
            found.append(jax.tree.leaves(jax.block_until_ready(network)))
        return found

    return go


class Transformer(object if torch is None else torch.nn.Module):
    """The same network as it would be written in PyTorch: one matrix for all heads, and no masks where nothing is masked."""

    def __init__(self, network: Network):
        super().__init__()
        block = network.blocks[0]
        self.heads = block.query.raw.shape[0]
        matrices = {name: np.concatenate(getattr(block, name).raw, axis=1) for name in ("query", "key", "value")}
        matrices["output"] = np.concatenate(block.output.raw, axis=0)
        matrices |= {name: np.array(getattr(block, name).raw) for name in ("dense", "branch")}
        matrices |= {name: np.array(getattr(network, name).raw) for name in ("embedding", "position", "readout")}
        for name, matrix in matrices.items():
            self.register_parameter(name, torch.nn.Parameter(torch.from_numpy(matrix)))

    def forward(self, tokens: Any) -> Any:
        stream = torch.nn.functional.embedding(tokens, self.embedding) + self.position
        last = stream[:, -1:]  # nothing reads what other queries find
        q, k, v = (self.in_heads(each) for each in (last @ self.query, stream @ self.key, stream @ self.value))
        weights = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(dim=-1)
        attended = last + (weights @ v).transpose(1, 2).flatten(2) @ self.output
        return ((attended + (attended @ self.dense).relu() @ self.branch) @ self.readout)[:, 0]

    def matrices(self) -> list[Any]:
        return [each.detach() for each in self.parameters()]

    def in_heads(self, vectors: Any) -> Any:
        return vectors.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (n, heads, columns, size)


def eager(load: Workload, seeds: int) -> Callable[[int], list[list[Any]]]:
    x, y = torch.from_numpy(load.data().x).long(), torch.from_numpy(load.data().y)
    models = [Transformer(network) for network in load.networks(seeds)]
    begun = [(model, torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)) for model in models]

    def go(steps: int) -> list[list[Any]]:
        for model, optimiser in begun:
            for _ in range(steps):
                optimiser.zero_grad()
                ((model(x) - y) ** 2).mean().backward()
                optimiser.step()
        return [model.matrices() for model in models]

    return go


def torch_func(load: Workload, seeds: int) -> Callable[[int], list[Any]]:
    x, y = torch.from_numpy(load.data().x).long(), torch.from_numpy(load.data().y)
    models = [Transformer(network) for network in load.networks(seeds)]
    params, _ = torch.func.stack_module_state(models)
    optimiser = torch.optim.AdamW(params.values(), lr=RATE, weight_decay=DECAY)  # works number by number, whatever the axes

    def loss(params: dict[str, Any]) -> Any:
        return ((torch.func.functional_call(models[0], params, (x,)) - y) ** 2).mean()

    gradient = torch.func.vmap(torch.func.grad(loss))

    def go(steps: int) -> list[Any]:
        for _ in range(steps):
            for name, value in gradient({name: each.detach() for name, each in params.items()}).items():
                params[name].grad = value
            optimiser.step()
        return [each.detach() for each in params.values()]

    return go


if __name__ == "__main__":
    raise SystemExit(run(report, __doc__))
