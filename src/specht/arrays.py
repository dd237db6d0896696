"""Arrays as people have them, turned into NumPy's without importing the libraries that they come from."""

from __future__ import annotations

from typing import Any

import numpy as np

from specht.errors import InputError


def as_numpy(values: Any, name: str = "x", unequal: str | None = None) -> np.ndarray:
    """Any array as a NumPy array: nested lists, pandas, PyTorch, JAX, xarray, or whatever NumPy or DLPack can read.

    A tensor is taken from its device and from its gradients. A series of lists becomes a table. What is no array at all becomes an array
    without axes that holds the object, as `numpy.asarray` does it, and the caller says what is wrong with that.

    Arguments:
        name: what the array is called in sentences.
        unequal: the sentence about rows of unequal length.

    >>> as_numpy([[0, 1], [1, 2]]).shape
    (2, 2)
    """
    try:
        array = np.asarray(_readable(values))
        if array.dtype == object and array.ndim:  # a series of lists, or whole numbers of a kind that pandas keeps as objects
            array = np.asarray([_readable(row) for row in array.tolist()])
    except ValueError:
        raise InputError(unequal or f"{name} has rows of unequal length: give rows of one length.") from None
    except Exception as error:  # the classes of others may raise anything
        raise InputError(_unreadable(values, name, error)) from None
    return array


def _readable(values: Any) -> Any:
    """The same numbers in a form that `numpy.asarray` takes."""
    if hasattr(values, "detach"):  # PyTorch: NumPy reads no tensor with gradients, none on a device, and no bfloat16
        tensor = values.detach().cpu()
        return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        return np.from_dlpack(values)
    if isinstance(values, (list, tuple)) and len(values) and hasattr(values[0], "detach"):
        return [_readable(row) for row in values]
    return values


def _unreadable(values: Any, name: str, error: Exception) -> str:
    if type(error).__name__ == "TracerArrayConversionError":
        return f"{name} is traced by JAX, so its numbers are not known: take it from outside the function that is compiled or mapped."
    reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    return f"{name} is a {type(values).__name__} that NumPy cannot read ({reason}): convert it with numpy.array first."
