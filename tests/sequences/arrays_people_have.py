"""Tokens in the forms that people have them, and a stand-in for the tensors of PyTorch, which is not installed everywhere."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import xarray


class Tensor:
    """Refuses what a tensor of PyTorch refuses: NumPy may not read one with gradients, nor one on a device."""

    def __init__(self, values: Any, requires_grad: bool = False, device: str = "cpu") -> None:
        self.values, self.requires_grad, self.device = np.asarray(values), requires_grad, device
        self.shape, self.ndim, self.dtype = self.values.shape, self.values.ndim, f"torch.{self.values.dtype}"

    def detach(self) -> Tensor:
        return Tensor(self.values, False, self.device)

    def cpu(self) -> Tensor:
        return Tensor(self.values, self.requires_grad)

    def numpy(self) -> np.ndarray:
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self.device != "cpu":
            raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() first.")
        return self.values

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.numpy()

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: Any) -> Tensor:
        return Tensor(self.values[place], self.requires_grad, self.device)


class Foreign:
    """An array that speaks DLPack and nothing else."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


class BatchEncoding(collections.UserDict):
    """What the tokenizers of transformers return: a mapping that is no dict."""


FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "lists": lambda x: x.tolist(),
    "tuples": lambda x: tuple(map(tuple, x.tolist())),
    "list of arrays": list,
    "array of small numbers": lambda x: x.astype(np.uint8),
    "array of objects": lambda x: x.astype(object),
    "data frame": pd.DataFrame,
    "data frame of nullable numbers": lambda x: pd.DataFrame(x).astype("Int64"),
    "series of lists": lambda x: pd.Series(x.tolist()),
    "series of arrays": lambda x: pd.Series(list(x)),
    "data frame of a tokenizer": lambda x: pd.DataFrame({"input_ids": x.tolist(), "attention_mask": np.ones_like(x).tolist()}),
    "tensor": Tensor,
    "tensor on a device": lambda x: Tensor(x, requires_grad=True, device="cuda"),
    "list of tensors": lambda x: [Tensor(row, requires_grad=True) for row in x],
    "JAX": jnp.asarray,
    "xarray": lambda x: xarray.DataArray(x, dims=("sequence", "position")),
    "DLPack": Foreign,
    "dict": lambda x: {"input_ids": x.tolist(), "token_type_ids": np.zeros_like(x).tolist()},
    "tokenizer": lambda x: BatchEncoding({"input_ids": Tensor(x), "attention_mask": Tensor(np.ones_like(x))}),
}
"""From tokens (n, columns) to the same in another form."""
