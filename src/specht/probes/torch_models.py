"""PyTorch modules as models, without importing PyTorch: whoever has a module has imported it.

A module is copied, put into evaluation mode and called without gradients, in float64 if its code takes that. The states between its blocks
are read by hooks: those that leave the elements of its longest outer list of modules (`ModuleList`, or a `Sequential` of equal ones), and
the one that enters the first.
"""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from specht.probes.outputs import OUTPUT, name_layers


def is_torch_module(model: Any) -> bool:
    nn = getattr(sys.modules.get("torch"), "nn", None)
    return nn is not None and isinstance(model, nn.Module)


def torch_ways(module: Any, columns: int) -> list[Callable[[], Callable[[np.ndarray], Any]]]:
    """In float64, and as it is."""
    return [functools.partial(_TorchWay, module, columns, double) for double in (True, False)]


class _TorchWay:
    """A copy of a module with hooks on its blocks."""

    def __init__(self, module: Any, columns: int, double: bool) -> None:
        self.torch, self.columns, self.double = sys.modules["torch"], columns, double
        self.module = copy.deepcopy(module).eval()
        self.module = self.module.double() if double else self.module
        self.blocks = blocks_of(self.module)
        self.states: dict[int, Any] = {}
        self.swapped: bool | None = None
        """Whether states are (columns, n, width); known after the first call."""
        for number, block in enumerate(self.blocks, start=1):
            block.register_forward_hook(functools.partial(self._leaves, number))
        if self.blocks:
            self.blocks[0].register_forward_pre_hook(self._enters, with_kwargs=True)

    def __call__(self, tokens: np.ndarray) -> dict[str, Any]:
        self.states.clear()
        device = next((weight.device for weight in self.module.parameters()), None)
        with self.torch.no_grad(), self._precision():
            returned = self.module(self.torch.as_tensor(tokens, dtype=self.torch.long, device=device))
        named = name_layers(returned)
        if len(named) > 1 or not self.blocks:
            return named
        hidden = {f"layer {number}": state for number, state in self._hidden(len(tokens)).items()}
        return hidden | {OUTPUT: next(iter(named.values()))}

    @contextmanager
    def _precision(self) -> Iterator[None]:
        """What the module makes while it runs, such as masks, has the precision of its weights."""
        before = self.torch.get_default_dtype()
        try:
            self.torch.set_default_dtype(self.torch.float64 if self.double else before)
            yield
        finally:
            self.torch.set_default_dtype(before)

    def _enters(self, _: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self.states[0] = next(iter([*arguments, *keywords.values()]), None)

    def _leaves(self, number: int, *hooked: Any) -> None:
        output = hooked[-1]
        self.states[number] = output[0] if isinstance(output, (tuple, list)) and output else output

    def _hidden(self, n: int) -> dict[int, Any]:
        """What left each block, if these are states of positions, and what entered the first one, if that is such a state too."""
        shapes = {number: tuple(getattr(state, "shape", ())) for number, state in self.states.items()}
        shapes = {number: shape[:2] for number, shape in shapes.items() if len(shape) == 3}
        if self.swapped is None:
            self.swapped = shapes.get(1) == (self.columns, n)
        expected = (self.columns, n) if self.swapped else (n, self.columns)
        fitting = [number for number in range(len(self.blocks) + 1) if shapes.get(number) == expected]
        if not set(range(1, len(self.blocks) + 1)) <= set(fitting):
            return {}
        return {number: self.states[number].transpose(0, 1) if self.swapped else self.states[number] for number in fitting}


def blocks_of(module: Any) -> Sequence[Any]:
    """The elements of the longest list of modules that lies in no other one."""
    nn = sys.modules["torch"].nn
    lists = {name: part for name, part in module.named_modules() if isinstance(part, nn.ModuleList) or _is_uniform(part, nn)}
    outer = [part for name, part in lists.items() if not any(name != other and name.startswith(f"{other}.") for other in lists)]
    return list(max(outer, key=len, default=()))


def _is_uniform(module: Any, nn: Any) -> bool:
    return isinstance(module, nn.Sequential) and len(module) > 1 and len({type(part) for part in module}) == 1
