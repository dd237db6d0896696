"""Stochastic positions and length: codes drawn anew in every step carry over to sequences twice as long, fixed codes do not."""

# %% The task: of T random vectors average the two that a query names. One layer of attention, one training with each kind of codes.
from specht.studies.selection import Selection
from specht.studies.selection.training import SelectionTraining, train_selection

task = Selection(length=16, support=2, dimension=4)
losses = {}
for codes in ("stochastic", "fixed"):
    setting = SelectionTraining(
        task=task, code=48, codes=codes, optimiser="adam", learning_rate=0.02, steps=600, batch=128, lengths=(24, 32), n_test=512, records=4
    )
    losses[codes] = {name: curve[-1] for name, curve in train_selection(setting, seed=0).losses.items()}
    print(f"{codes:10}", {name: round(float(value / task.trivial_loss), 4) for name, value in losses[codes].items()})

# %% Both learn the task at the length they were trained at: a loss of under a twentieth of that of answering zero.
trivial = task.trivial_loss
assert max(losses[codes]["validation"] for codes in losses) < 0.05 * trivial

# %% At twice the length the fixed codes, half of which were never seen in training, are wrong by ten times as much and more.
ratio = losses["fixed"]["T=32"] / losses["stochastic"]["T=32"]
print(f"loss at twice the length, fixed over stochastic codes: {ratio:.0f}")
assert ratio > 10
