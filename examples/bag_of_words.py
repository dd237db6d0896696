"""Why a bag of words fails: without positions a transformer has one irrep, and no number of samples gives it another."""

# %% The task is the first of eight coin flips. One architecture has positions, the other has none.
import numpy as np

import specht

coins = specht.sources.uniform(2)
first = specht.Target("first", lambda x: 2 * x[:, 0] - 1)
task = specht.Task(coins, first)
with_positions = specht.Architecture(vocab=2, length=8)
without = specht.Architecture(vocab=2, length=8, positions="none")

# %% The profile of the task says what is at stake: 1/8 of it ignores order, 7/8 singles out a position.
profile = specht.profile(first.function, coins, length=8)
print(profile)
assert np.allclose(profile.weights[:2] / sum(profile.weights), [1 / 8, 7 / 8], atol=0.03)

# %% The kernel says who can: with positions there are two irreps, without there is the trivial one alone.
for arch in (with_positions, without):
    print(arch, {str(row.irrep) for row in specht.spectrum(arch, coins).rows if row.eigenvalue > 1e-12})

# %% Exact inference on sampled data shows it: one loss falls to nothing, the other stops at 7/8 whatever the number of samples.
n_train = [64, 256, 1024]
for arch in (with_positions, without):
    curve = specht.learning_curve(arch, task, n_train=n_train, by="gp", ridge=0.1, datasets=8)
    print(arch, curve.test.round(3), "±", curve.test_stderr.round(3))

# %% In numbers: after 1024 samples the bag of words has a loss of 7/8 = 0.875.
assert abs(curve.test[-1] - 0.875) < 0.02
