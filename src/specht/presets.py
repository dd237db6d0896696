"""Named architectures: what people compare, one line each."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from specht.architecture import Architecture
from specht.errors import explains_calls, unknown_choice


@dataclasses.dataclass(frozen=True)
class Preset:
    """A name, what it is, and the fields in which it differs from the defaults."""

    name: str
    summary: str
    fields: dict[str, Any]


PRESETS = {
    preset.name: preset
    for preset in (
        Preset("simplified", "the solvable block: linear attention, linear MLP, learned positions", {}),
        Preset("softmax", "softmax attention with a linear MLP, as in the spectrum figure", {"attention": "softmax"}),
        Preset("lecun", "softmax attention with an erf MLP at LeCun variances", {"attention": "softmax", "activation": "erf"}),
        Preset("linear-relu", "linear attention with a ReLU MLP, in closed form", {"activation": "relu"}),
        Preset("bag-of-words", "no positions, mean readout: sees token counts and nothing else", {"positions": "none", "readout": "mean", "activation": "relu"}),
        Preset("deep-linear", "four residual pre-norm blocks of linear attention and ReLU, in closed form", {"depth": 4, "residual": True, "norm": "pre", "activation": "relu", "normalised": True}),
        Preset("infinite-attention", "softmax with 1/d scaling and tied queries and keys (Hron et al. 2020)", {"attention": "softmax", "scaling": "tied", "activation": "relu"}),
        Preset("sinusoidal", "linear attention with fixed sinusoidal positions", {"positions": "sinusoidal", "activation": "relu"}),
        Preset("nope-causal", "no positions, causal mask, two blocks of linear attention", {"positions": "none", "causal": True, "depth": 2, "normalised": True, "activation": "relu"}),
        Preset("nope-causal-softmax", "no positions, causal mask, two blocks of softmax attention", {"positions": "none", "causal": True, "depth": 2, "attention": "softmax", "activation": "relu"}),
        Preset("transformer", "two residual pre-norm blocks of softmax attention and GELU", {"attention": "softmax", "activation": "gelu", "depth": 2, "residual": True, "norm": "pre"}),
    )
}  # fmt: skip


@functools.partial(explains_calls, also=[field.name for field in dataclasses.fields(Architecture)])
def preset(name: str, *, vocab: int, length: int, **changes: Any) -> Architecture:
    """The named architecture at a vocabulary and length, with any further field changed.

    >>> str(preset("softmax", vocab=4, length=16))
    'V=4 L=16 | pos=learned(1.0) | softmax/sqrt | linear | last'
    """
    if name not in PRESETS:
        raise unknown_choice("preset", name, PRESETS)
    return Architecture(vocab=vocab, length=length, **(PRESETS[name].fields | changes))
