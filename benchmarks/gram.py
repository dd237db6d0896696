"""Time and memory of Grams against two rulers measured in the same run: a plain matrix product, and position by position.

    python benchmarks/gram.py            # all sizes, about ten minutes on two cores
    python benchmarks/gram.py --quick    # the two smallest sizes

Prints one JSON object a line. Seconds are CPU seconds, the minimum of several runs after compilation, on one thread.
* floor: float64 products of one-hot tokens that count equal tokens and matching positions, the arithmetic that no exact method avoids;
* by_position: the sum over all length x length position pairs, as general-purpose libraries do it; where one run would take over
  60 CPU seconds it is timed on fewer sequences and scaled by the number of pairs (`extrapolated`).
Memory is the growth of the peak resident set while a Gram is computed, compilation included. `met` says which targets a line meets;
the exit code is 1 when one is missed.
"""

from common import measure, print_line, run  # isort: skip -- first, because it sets the number of threads

import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

import specht
from specht.kernel.layers import closed_kernel
from specht.kernel.model import model_of
from specht.kernel.pairs import Sequences

SIZES = [(100, 16, 16), (500, 32, 16), (1000, 64, 16), (2000, 256, 32)]  # sequences, length, vocabulary
PATIENCE = 60.0  # CPU seconds for one run of the slow reference


def report(quick: bool) -> None:
    sizes = SIZES[:2] if quick else SIZES
    for size in sizes:
        report_closed_forms(*size)
    for size in sizes:
        report_variances_of_each(*size)
    report_tied_mean()
    for size in sizes:
        report_softmax(*size, relative_error=0.01 if size in SIZES[:2] else 0.05)
    if not quick:
        report_growth_with_length()
        report_against_cholesky()


def report_closed_forms(n: int, length: int, vocab: int) -> None:
    x = tokens(n, length + 1, vocab)
    floor, floor_memory, _ = measure(partial(gemm_floor, x, vocab))
    for activation in ("linear", "erf", "relu"):
        arch = specht.Architecture(vocab=vocab, length=length, activation=activation)
        for kind in ("nngp", "ntk"):
            seconds, memory, _ = measure(partial(getattr(specht.Kernel(arch), kind), x))
            reference, extrapolated = time_by_position(x, vocab, activation, kind)
            gram_bytes = 8 * n * n
            met = {"memory at most 3 Grams + 300 MB": memory <= 3 * gram_bytes + 300 * 2**20}
            if activation == "linear":
                met["at most 3 floors"] = seconds <= 3 * floor
            if (n, length, vocab) == (500, 32, 16):
                met["100 times faster than by position"] = reference >= 100 * seconds
            print_line(
                "closed form", n=n, length=length, vocab=vocab, activation=activation, kind=kind, seconds=seconds, floor=floor,
                by_position=reference, extrapolated=extrapolated, times_floor=seconds / floor, speedup=reference / seconds,
                memory_mb=memory / 2**20, floor_memory_mb=floor_memory / 2**20, gram_mb=gram_bytes / 2**20, met=met,
            )  # fmt: skip


def report_variances_of_each(n: int, length: int, vocab: int) -> None:
    """A variance for each token and each position against one of each kind, in turns, so that a busy machine slows both."""
    x, rng = tokens(n, length + 1, vocab), np.random.default_rng(1)
    variances = specht.Variances(rng.uniform(0.5, 1.5, vocab) / vocab, rng.uniform(0.5, 1.5, length + 1))
    for activation in ("linear", "relu"):
        arch = specht.Architecture(vocab=vocab, length=length, activation=activation)
        for kind in ("nngp", "ntk"):
            uniform, of_each = (getattr(specht.Kernel(arch, variances=each), kind) for each in (None, variances))
            seconds = np.array([[measure(partial(evaluate, x), runs=3)[0] for evaluate in (uniform, of_each)] for _ in range(3)]).min(
                axis=0
            )
            print_line(
                "variances of each", n=n, length=length, vocab=vocab, activation=activation, kind=kind, seconds=seconds[1],
                uniform=seconds[0], times_uniform=seconds[1] / seconds[0],
                met={"at most 1.5 times uniform": bool(seconds[1] <= 1.5 * seconds[0])},
            )  # fmt: skip


def report_tied_mean(n: int = 100, length: int = 64, vocab: int = 16) -> None:
    """Tied softmax attention with mean readout: one weighted count against the covariance of all pairs of positions."""
    x = tokens(n, length, vocab)
    arch = specht.Architecture(vocab=vocab, length=length, attention="softmax", scaling="tied", readout="mean")
    for kind in ("nngp", "ntk"):
        kernel = specht.Kernel(arch)
        seconds, memory, gram = measure(partial(getattr(kernel, kind), x))
        with jax.enable_x64(True):
            rows = 10  # of the slow reference; all pairs at once would not fit
            batch = Sequences(jnp.asarray(x), jnp.ones(x.shape, dtype=bool))
            few = Sequences(batch.symbols[:rows], batch.visible[:rows])
            slow = partial(closed_kernel, model_of(arch), few, batch, kind=kind, bookkeeping="positions")
            reference, *_, values = measure(lambda slow=slow: jax.block_until_ready(slow()), runs=2)
        np.testing.assert_allclose(gram[:rows], np.asarray(values), rtol=1e-12)
        reference *= n / rows
        print_line(
            "tied softmax, mean readout", n=n, length=length, vocab=vocab, kind=kind, seconds=seconds, by_position=reference,
            speedup=reference / seconds, memory_mb=memory / 2**20, met={"300 times faster than by position": reference >= 300 * seconds},
        )  # fmt: skip


def report_softmax(n: int, length: int, vocab: int, relative_error: float) -> None:
    x = tokens(n, length + 1, vocab)
    floor, *_ = measure(partial(gemm_floor, x, vocab))
    for kind in ("nngp", "ntk"):
        kernel = specht.Kernel(specht.Architecture(vocab=vocab, length=length, attention="softmax"), relative_error=relative_error)
        evaluate = getattr(kernel, kind)
        gram = evaluate(x)
        runs = 5 if n * length <= 500 * 32 else 2  # the larger sizes take minutes
        seconds, memory, _ = measure(partial(evaluate, x), runs=runs)
        achieved = float(np.linalg.norm(gram.stderr) / np.linalg.norm(gram))
        print_line(
            "softmax", n=n, length=length, vocab=vocab, kind=kind, seconds=seconds, floor=floor, times_floor=seconds / floor,
            runs=runs, heads=gram.heads, requested_error=relative_error, achieved_error=achieved,
            memory_mb=memory / 2**20, gram_mb=8 * n * n / 2**20, met={"requested error": achieved <= relative_error},
        )  # fmt: skip


def report_growth_with_length(n: int = 500, vocab: int = 16) -> None:
    """Exponent of time against length at fixed n, over the long half of the range, where fixed costs no longer show."""
    lengths = [256, 512, 1024, 2048]
    arch = specht.Architecture(vocab=vocab, length=1, activation="relu")
    kernels = {length: specht.Kernel(arch.replace(length=length)) for length in lengths}
    seconds = [measure(partial(kernel.ntk, tokens(n, length + 1, vocab)))[0] for length, kernel in kernels.items()]
    exponent = float(np.polyfit(np.log(lengths), np.log(seconds), 1)[0])
    print_line(
        "growth with length", n=n, vocab=vocab, lengths=lengths, seconds=seconds, exponent=exponent, met={"linear": exponent <= 1.15}
    )


def report_against_cholesky(n: int = 4000, length: int = 64, vocab: int = 32) -> None:
    x = tokens(n, length + 1, vocab)
    kernel = specht.Kernel(specht.Architecture(vocab=vocab, length=length, activation="relu"))
    seconds, memory, _ = measure(partial(kernel.ntk, x))
    gram = kernel.ntk(x) + np.eye(n)
    cholesky, *_ = measure(partial(scipy.linalg.cholesky, gram, lower=True, check_finite=False))
    print_line(
        "relu ntk against cholesky", n=n, length=length, vocab=vocab, seconds=seconds, cholesky=cholesky, times_cholesky=seconds / cholesky,
        memory_mb=memory / 2**20, gram_mb=8 * n * n / 2**20,
        met={"at most 2 Choleskys": seconds <= 2 * cholesky, "memory at most 3 Grams + 300 MB": memory <= 24 * n * n + 300 * 2**20},
    )  # fmt: skip


def tokens(n: int, columns: int, vocab: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, vocab, (n, columns))


def gemm_floor(x: np.ndarray, vocab: int) -> np.ndarray:
    """Counts of equal tokens and of matching positions of every pair, by two plain products of prepared operands."""
    hot, tally = _one_hot(x.tobytes(), x.shape, vocab)
    return hot @ hot.T + tally @ tally.T


_PREPARED: dict = {}


def _one_hot(raw: bytes, shape: tuple[int, ...], vocab: int) -> tuple[np.ndarray, np.ndarray]:
    key = (hash(raw), shape, vocab)
    if key not in _PREPARED:
        _PREPARED.clear()
        hot = np.eye(vocab)[np.frombuffer(raw, dtype=np.int64).reshape(shape)]
        _PREPARED[key] = hot.reshape(shape[0], -1), hot.sum(axis=1)
    return _PREPARED[key]


@partial(jax.jit, static_argnames=("activation", "kind"))
def by_position(x, y, s_w, s_p, activation: str, kind: str):
    """The attention sum over all (n, T, m, T) covariances, in plain JAX; the dense layer sees the readout entry alone, to its advantage."""
    same_column = jnp.eye(x.shape[1])[None, :, None, :]
    k = s_w * (x[:, :, None, None] == y[None, None]).astype(jnp.float64) + s_p * same_column
    attended = jnp.sum(k**2, axis=(1, 3)) * k[:, -1, :, -1]
    theta = 7.0 * attended  # embedding trained: its tangent kernel is k
    own_x, own_y = (own_variance(z, s_w, s_p) for z in (x, y))
    q_x, q_y = own_x[:, None], own_y[None, :]
    if activation == "linear":
        value, slope = attended, jnp.ones_like(attended)
    elif activation == "erf":
        scale = (1 + 2 * q_x) * (1 + 2 * q_y)
        value = 2 / jnp.pi * jnp.arcsin(2 * attended / jnp.sqrt(scale))
        slope = 4 / jnp.pi / jnp.sqrt(scale - 4 * attended**2)
    else:
        scale = jnp.sqrt(q_x * q_y)
        cosine = jnp.clip(attended / scale, -1.0, 1.0)
        angle = jnp.arccos(cosine)
        value = scale / (2 * jnp.pi) * (jnp.sqrt(1 - cosine**2) + (jnp.pi - angle) * cosine)
        slope = (jnp.pi - angle) / (2 * jnp.pi)
    return value if kind == "nngp" else value + slope * (theta + attended)


def own_variance(x, s_w, s_p):
    k = s_w * (x[:, :, None] == x[:, None, :]).astype(jnp.float64) + s_p * jnp.eye(x.shape[1])[None]
    return (s_w + s_p) * jnp.sum(k**2, axis=(1, 2))


def time_by_position(x: np.ndarray, vocab: int, activation: str, kind: str) -> tuple[float, bool]:
    """CPU seconds of the slow reference on all pairs, in tiles; scaled from fewer sequences if it would take too long."""
    n, columns = x.shape
    tile = max(1, min(n, int((1.5e8 / columns**2) ** 0.5)))  # 1.5e8 entries: 1.2 GB a plane
    with jax.enable_x64(True):
        run = partial(by_position, s_w=1.0 / vocab, s_p=1.0, activation=activation, kind=kind)
        block = jnp.asarray(x[:tile])
        one_tile, *_ = measure(lambda: jax.block_until_ready(run(block, block)))
        ours = getattr(specht.Kernel(specht.Architecture(vocab=vocab, length=columns - 1, activation=activation)), kind)(x[:tile])
        # clipped correlations cost the slow reference 1e-8 on the diagonal of the ReLU slope
        np.testing.assert_allclose(ours, np.asarray(run(block, block)), rtol=1e-7)
    pairs = (n / tile) ** 2
    estimate = one_tile * pairs
    if tile == n or estimate > PATIENCE:
        return estimate, tile < n
    with jax.enable_x64(True):
        starts = range(0, n - tile + 1, tile)
        blocks = [jnp.asarray(x[start : start + tile]) for start in starts]
        begin = time.process_time()
        for left in blocks:
            for right in blocks:
                jax.block_until_ready(run(left, right))
        whole = time.process_time() - begin
    return whole * (n / (tile * len(blocks))) ** 2, False


if __name__ == "__main__":
    raise SystemExit(run(report, __doc__))
