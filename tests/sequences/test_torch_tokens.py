"""Tokens and labels as PyTorch holds them, where it is installed; the stand-in of `arrays_people_have` speaks for it elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import specht
from specht.arrays import as_numpy
from specht.sequences.tokens import check_batch

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

ARCH = specht.Architecture(vocab=3, length=2)
TOKENS = [[0, 1, 2], [1, 1, 0]]


@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "int32", "int64"])
def test_tensors_of_every_integer_type_are_tokens(kind):
    tensor = torch.tensor(TOKENS, dtype=getattr(torch, kind))
    mask = torch.tensor([[0, 1, 1], [1, 1, 1]])
    tokens, visible = check_batch(ARCH, {"input_ids": tensor, "attention_mask": mask})
    assert tokens.tolist() == TOKENS
    assert visible.tolist() == mask.bool().tolist()
    np.testing.assert_array_equal(specht.Kernel(ARCH)(list(tensor)), specht.Kernel(ARCH)(TOKENS))


@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16"])
def test_labels_may_carry_gradients(kind):
    labels = torch.tensor([0.5, -1.0], dtype=getattr(torch, kind), requires_grad=True)
    assert as_numpy(labels, "y").tolist() == [0.5, -1.0]
    assert specht.nn.Fixed(torch.tensor(TOKENS), labels).checked("mse").y[0, :, 0].tolist() == [0.5, -1.0]


def test_a_tensor_without_numbers_is_refused():
    with pytest.raises(specht.InputError, match="x is a Tensor that NumPy cannot read"):
        check_batch(ARCH, torch.zeros((1, 3), dtype=torch.int64, device="meta"))
