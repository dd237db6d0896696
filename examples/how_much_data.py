"""How much data does a task need? Reading one token is dearer than counting all of them, and length makes it worse."""

# %% Two tasks on the same sequences of 16 coin flips: how many of them are heads, and whether the first one is.
import numpy as np

import specht

coins = specht.sources.uniform(2)
count = specht.Target("count", lambda x: (2 * x[:, :16] - 1).mean(axis=1) * 4, pairs=0)
first = specht.Target("first", lambda x: 2 * x[:, 0] - 1, reads=(0,))

# %% A transformer by theory: half of the leading function of an irrep takes N* samples. That of [16] is the constant.
arch = specht.Architecture(vocab=2, length=16)
spec = specht.spectrum(arch, coins)
for need in specht.sample_complexity(spec, ridge=0.1):
    print(f"{need.irrep!s:8} degeneracy {need.degeneracy:2}   N* = {need.samples:.1f}")

# %% Both learning curves, and exact Bayesian inference on sampled data beside that of the first token.
n_train = [16, 64, 256]
theory = {task.name: specht.learning_curve(spec, specht.Task(coins, task), n_train=n_train, ridge=0.1) for task in (count, first)}
exact = specht.learning_curve(arch, specht.Task(coins, first), n_train=n_train, by="gp", ridge=0.1, datasets=20)
print("N    ", *n_train)
print("count", theory["count"].test.round(4))
print("first", theory["first"].test.round(4))
print("exact", exact.test.round(4), "±", exact.test_stderr.round(4))

# %% The same two tasks at other lengths: samples until the error is a tenth of what there is to learn.
sizes = np.unique(np.geomspace(1, 4e5, 400).astype(int))
needed = {}
for length in (16, 64, 1024):
    spec = specht.spectrum(specht.Architecture(vocab=2, length=length), coins)
    count = specht.Target("count", lambda x: (2 * x[:, :-1] - 1).sum(axis=1) / x[:, :-1].shape[1] ** 0.5, pairs=0)
    curves = [specht.learning_curve(spec, specht.Task(coins, target), n_train=sizes, ridge=0.1) for target in (count, first)]
    needed[length] = [int(sizes[np.argmax(curve.test < 0.1)]) for curve in curves]
    print(f"L = {length:4}   count {needed[length][0]}   first {needed[length][1]}")

# %% At infinite width, that is. A network of width 64 learns where to look, and by theory the same two tasks take it far fewer.
arch = specht.Architecture(vocab=2, length=1024)
wide = np.geomspace(4, 2e5, 32)
count = specht.Target("count", lambda x: (2 * x[:, :-1] - 1).sum(axis=1) / 32, pairs=0, reads=())
finite = [specht.learning_curve(arch, specht.Task(coins, target), wide, ridge=0.1, width=64).samples_for(0.1) for target in (count, first)]
print(f"L = 1024   count {finite[0]:.0f}   first {finite[1]:.0f}, at width 64")

# %% In numbers: of 1024 flips, counting takes 286 samples and reading the first takes 82051; at width 64 they take 41 and 499.
assert needed[1024] == [286, 82051]
assert [round(samples) for samples in finite] == [41, 499]
assert np.all(np.abs(exact.test - theory["first"].test) < 0.15 * theory["first"].test + 3 * exact.test_stderr)
