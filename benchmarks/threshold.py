"""Time and cost of the search for a threshold, against a PyTorch loop of the same trials and against an exhaustive grid.

    python benchmarks/threshold.py            # about five minutes
    python benchmarks/threshold.py --quick    # without the longest sequences

Prints one JSON object a line. "trials": AND of three bits, the transformer of `specht threshold` at its settings; `ours` is CPU seconds of
the whole search for one training run of it, on one thread, after compilation, which is told apart (`compile`); `torch` the same for
some of the same runs, on the same samples, in PyTorch: a network that embeds the sequences and lets the class symbol ask, AdamW, dropout,
and a look at the same validation set after every 25 steps, at which it stops for the same reason. PyTorch computes only the query
that is read. Both compute the same logits from the same weights, which is checked first. Without PyTorch, which Specht does not need, a
line says so. "grid": trials of the search, on curves of success that are known, over those of sixteen sizes with as many trials each that
give an interval as narrow as the search is asked for: sizes spread over the range that is searched, or over a factor four around the
threshold, as in figure 2 of Edelman et al. 2022, whose authors knew where to look. Wide curves gain less; the target is on all together.
`met` says which targets a line meets, and the exit code is 1 when one is missed.
"""

from common import print_line, run  # isort: skip -- first, because it sets the number of threads

import math
import time
from typing import Any

import numpy as np
from scipy import special

from specht.studies.sparse.learners import NetworkLearner, SparseTask, network_learner
from specht.studies.sparse.model import BitTransformer
from specht.studies.sparse.task import sparse_function
from specht.studies.sparse.threshold import Batch, Belief, Search, find_threshold

try:
    import torch
except ImportError:
    torch = None

SIZES = 16
"""Of the grid."""
CURVES = 24
WIDTH = 1.3
TORCH_RUNS = 4


def report(quick: bool) -> None:
    if torch is None:
        print_line("torch", installed=False)
    else:
        torch.set_num_threads(1)
        check_same_logits()
    totals = np.zeros(2)
    for length in (25, 50, 100) if quick else (25, 50, 100, 200):
        totals += report_trials(length)
    if torch is not None:
        faster = float(totals[1] / totals[0])
        print_line("all lengths", times_faster=faster, met={"10 times the speed of PyTorch": faster >= 10})
    costs = sum(report_grid(width, CURVES // 3 if quick else CURVES) for width in (0.1, 0.2, 0.3))
    share = float(costs[0] / costs[1])
    print_line(
        "search cost", share=share, share_of_near=float(costs[0] / costs[2]), met={"a third of the trials of a grid": share <= 1 / 3}
    )


def report_trials(length: int) -> np.ndarray:
    """Seconds a run, ours and PyTorch's, of one search."""
    who = network_learner("transformer", SparseTask(sparse_function("and", 3), length, accuracy=0.99))
    begin = time.process_time()
    for m in (60, 90, 120):  # every size that is filled up to
        who.try_once(m, 10**6)
    compiled = time.process_time() - begin
    runs, tried = 0, []

    def count(m: int, trials: range) -> int:
        nonlocal runs
        found = [who.try_once(m, trial) for trial in trials]
        runs += sum(trial.runs for trial in found)
        tried.extend((m, trial) for trial in trials)
        return sum(trial.success for trial in found)

    begin = time.process_time()
    found = find_threshold(count, Search(width=WIDTH))
    ours = (time.process_time() - begin) / runs
    fields: dict[str, Any] = {"T": length, "threshold": found.m, "trials": found.trials, "runs": runs, "ours": ours, "compile": compiled}
    if torch is None:
        print_line("trials", **fields)
        return np.zeros(2)
    begin = time.process_time()
    made = 0
    for m, trial in tried[:: max(1, len(tried) // TORCH_RUNS)]:
        made += with_torch(who, m, trial)
    theirs = (time.process_time() - begin) / made
    rates = {"ours": 1 / ours, "torch": 1 / theirs}
    print_line("trials", **fields, torch=theirs, torch_runs=made, runs_a_second=rates, times_faster=theirs / ours)
    return np.array([ours, theirs])


class Reader(object if torch is None else torch.nn.Module):
    """The same transformer as it would be written in PyTorch."""

    def __init__(self, model: BitTransformer, params: dict[str, np.ndarray]) -> None:
        super().__init__()
        self.heads, self.dropout = model.heads, model.dropout
        self.p = torch.nn.ParameterDict({name: torch.nn.Parameter(torch.from_numpy(np.array(value))) for name, value in params.items()})

    def forward(self, bits: Any) -> Any:
        p = self.p
        symbol = torch.full((len(bits), 1), 2, dtype=torch.long)
        stream = torch.nn.functional.embedding(torch.cat([bits, symbol], dim=1), p["token"]) + p["position"]
        read, last = self.norm(stream, 1), stream[:, -1:]
        q = self.in_heads(read[:, -1:] @ p["query"] + p["query_bias"])
        k, v = self.in_heads(read @ p["key"]), self.in_heads(read @ p["value"] + p["value_bias"])
        weights = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(dim=-1)
        mixed = (weights @ v).transpose(1, 2).flatten(2)
        last = last + torch.nn.functional.dropout(mixed @ p["output"] + p["output_bias"], self.dropout, self.training)
        hidden = torch.nn.functional.gelu(self.norm(last, 2) @ p["up"] + p["up_bias"], approximate="tanh")
        last = last + torch.nn.functional.dropout(hidden @ p["down"] + p["down_bias"], self.dropout, self.training)
        return (self.norm(last, 3) @ p["readout"])[:, 0]

    def norm(self, x: Any, place: int) -> Any:
        return torch.nn.functional.layer_norm(x, x.shape[-1:], self.p[f"norm{place}_gain"], self.p[f"norm{place}_shift"])

    def in_heads(self, x: Any) -> Any:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def with_torch(who: NetworkLearner, m: int, trial: int) -> int:
    """One trial with all its restarts; the number of runs that it took."""
    train, validation, _ = who.task.draw(m, trial)
    x, y, vx, vy = (torch.from_numpy(each).long() for each in (*train, *validation))
    for start in range(who.restarts):
        model = Reader(who.model, who.model.init(np.random.default_rng([who.task.seed, trial, start, 1])))
        matrices = [p for name, p in model.p.items() if p.ndim == 2 and name not in ("token", "position")]
        others = [p for name, p in model.p.items() if p.ndim != 2 or name in ("token", "position")]
        groups = [{"params": matrices, "weight_decay": who.schooling.weight_decay}, {"params": others, "weight_decay": 0.0}]
        optimiser = torch.optim.AdamW(groups, lr=who.schooling.learning_rate)
        for step in range(1, who.schooling.steps + 1):
            model.train()
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), who.schooling.clip)
            optimiser.step()
            if step % who.schooling.every == 0:
                model.eval()
                with torch.no_grad():
                    if int((model(vx).argmax(dim=1) == vy).sum()) >= who.task.needed:
                        return start + 1
    return who.restarts


def check_same_logits() -> None:
    model, rng = BitTransformer(20), np.random.default_rng(0)
    params = {name: rng.standard_normal(value.shape).astype(np.float32) for name, value in model.init(rng).items()}
    bits = rng.integers(2, size=(32, 20))
    theirs = Reader(model, params).eval()(torch.from_numpy(bits)).detach().numpy()
    np.testing.assert_allclose(model.logits(params, bits.astype(np.float32)), theirs, rtol=1e-3, atol=1e-3 * np.abs(theirs).max())


def report_grid(curve_width: float, curves: int) -> np.ndarray:
    """Mean trials of the search, and of two grids that end with intervals as narrow as it must make them."""
    rng, spent, held = np.random.default_rng(0), [], 0
    search = Search(width=WIDTH, largest=1024, budget=1600)  # the range of the command
    for _ in range(curves):
        theta = math.log(rng.uniform(20, 250))
        found = find_threshold(lambda m, trials, c=theta: rng.binomial(len(trials), success(m, c, curve_width)), search)
        held += found.low <= math.exp(theta) <= found.high
        whole = np.geomspace(search.smallest, search.largest, SIZES)
        near = np.geomspace(0.5, 2.0, SIZES) * math.exp(theta)
        spent.append((found.trials, *(grid_trials(rng, sizes, theta, curve_width, search) for sizes in (whole, near))))
    ours, whole, near = np.array(spent, dtype=float).mean(axis=0).tolist()
    print_line(
        "grid",
        curve_width=curve_width,
        curves=curves,
        interval_ratio=WIDTH,
        coverage=float(held / curves),
        trials=ours,
        grid=whole,
        grid_near_the_threshold=near,
        share=ours / whole,
        share_of_near=ours / near,
    )
    return np.array([ours, whole, near])


def grid_trials(rng: np.random.Generator, sizes: np.ndarray, theta: float, curve_width: float, search: Search) -> int:
    """Trials of a grid, made in rounds of one trial a size, until its interval is as narrow as the search has to make it."""
    belief, rounds = Belief(search), 0
    while True:
        for m in sizes:
            belief.learn(Batch(max(1, round(m)), int(rng.random() < success(m, theta, curve_width)), 1))
        rounds += 1
        low, high = belief.interval()
        if high / low <= search.width:
            return rounds * len(sizes)


def success(m: float, theta: float, width: float) -> float:
    """A logistic curve with 80 % at the threshold."""
    return float(special.expit((math.log(m) - theta) / width + special.logit(0.8)))


if __name__ == "__main__":
    raise SystemExit(run(report, __doc__))
