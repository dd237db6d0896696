r"""One description of a transformer, read by both limits: the infinite-width kernel and the finite network.

The network maps a sequence of tokens $x_1 \dots x_T$ to a number. With raw weights $\sim N(0, 1)$ and every scale
written out, width $d$, $H$ heads of size $d_k$ (Lavie, Gur-Ari & Ringel 2024, simplified block; Hron et al. 2020):

$$ z_a = \sqrt{s_w}\, E_{x_a} + \sqrt{s_p}\, p_a, \qquad
   S^h_{ab} = \frac{(W_Q^h z_a) \cdot (W_K^h z_b)}{d \sqrt{d_k}}, \qquad
   o_a = \frac{1}{\sqrt{H d_k\, d}} \sum_h W_O^h \sum_b \Phi(S^h)_{ab} W_V^h z_b, $$
$$ h_a = \phi(\sqrt{s_1/d}\; W_1 o_a), \qquad f(x) = \sqrt{s_2/d}\; w_2 \cdot h_{\text{readout}} . $$

One block is attention followed by the dense layer; `depth` repeats it on the stream $z \leftarrow h$. A residual block is
$o = z + \mathrm{attention}(z)$, $z \leftarrow o + W_2 \phi(W_1 o)/\sqrt d$: there the branch ends in its own matrix $W_2$, so that
branches have mean zero and their variances add.
"""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any, Literal, NamedTuple, get_args

from specht.activations import Activation, activation, activation_names
from specht.checks import whole_number
from specht.errors import InputError, explains_calls, unknown_choice

Positions = Literal["learned", "none", "sinusoidal", "stochastic", "rotary"]
Attention = Literal["linear", "softmax"]
Scaling = Literal["sqrt", "tied", "untied"]
Norm = Literal["none", "pre", "post"]
Readout = Literal["last", "mean", "cls"]
Kind = Literal["nngp", "ntk"]
"""Which kernel: the covariance, for Bayesian inference, or the tangent kernel, for gradient flow."""

_CHOICES: dict[str, tuple[str, ...]] = {
    "positions": get_args(Positions),
    "attention": get_args(Attention),
    "scaling": get_args(Scaling),
    "norm": get_args(Norm),
    "readout": get_args(Readout),
}
_FLAGS = ("causal", "residual", "normalised", "values_see_positions", "extra_linear")


class Variances(NamedTuple):
    """The numbers of an architecture: weight variances, apart from its structure. JAX sees a pytree of float64 leaves."""

    tokens: Any
    """Variance of the token embedding: one number, or one for each of `arch.symbols` tokens (with readout "cls" the class symbol too)."""
    positions: Any
    """Variance of the positional encoding: one number, or one for each of `arch.columns` columns."""
    dense: Any = 1.0
    """Variance of the dense layer."""
    readout: Any = 1.0
    """Variance of the readout."""


@explains_calls
@dataclasses.dataclass(frozen=True, kw_only=True)
class Architecture:
    """A transformer, described once; the defaults are the simplified block that the theory solves.

    >>> arch = Architecture(vocab=4, length=16, attention="softmax", activation="erf")
    >>> str(arch)
    'V=4 L=16 | pos=learned(1.0) | softmax/sqrt | erf | last'
    >>> Architecture.parse(str(arch)) == arch
    True
    """

    vocab: int
    """Number of tokens V."""
    length: int
    """Number of context positions L, the ones that permutations move."""
    s_w: float | None = None
    """Variance of the token embedding; 1/V (LeCun fan-in on one-hot tokens) unless given."""
    s_p: float = 1.0
    """Variance of the positional encoding (not used by positions "none" and "rotary")."""
    s_1: float = 1.0
    """Weight variance of the dense layer."""
    s_2: float = 1.0
    """Weight variance of the readout."""
    positions: Positions = "learned"
    """learned: one trained vector a position; none; sinusoidal: fixed, geometric frequencies; stochastic: random signs drawn
    anew for every sequence; rotary: queries and keys turned by an angle proportional to the position."""
    values_see_positions: bool = True
    """True: positions are added to the stream. False: every block adds them to what queries and keys read, and to nothing else."""
    attention: Attention = "linear"
    scaling: Scaling = "sqrt"
    """sqrt: scores q.k/sqrt(d_k); tied: q.k/d_k with W_Q = W_K; untied: q.k/d_k with independent W_Q and W_K."""
    normalised: bool = False
    """Linear attention only: divide by the number of visible positions (1/T)."""
    causal: bool = False
    residual: bool = False
    norm: Norm = "none"
    """Layer norm without gain or bias. pre: before attention, dense layer and readout; post: after attention and dense layer."""
    depth: int = 1
    activation: str = "linear"
    """Nonlinearity of the dense layer: linear, erf, relu, gelu, tanh, sine, softplus, one that was registered, or module:function."""
    readout: Readout = "last"
    """last: the last column; cls: the last column, holding a class symbol of its own; mean: average over all columns."""
    extra_linear: bool = False
    """One more linear layer (unit variance) before the readout."""

    def __post_init__(self) -> None:
        for name in ("vocab", "length", "depth"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), at_least=1))
        if self.s_w is None:
            object.__setattr__(self, "s_w", 1.0 / self.vocab)
        for name in ("s_w", "s_p", "s_1", "s_2"):
            object.__setattr__(self, name, _variance(name, getattr(self, name)))
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise unknown_choice(name, getattr(self, name), choices)
        name = self.activation.name if isinstance(self.activation, Activation) else self.activation
        object.__setattr__(self, "activation", activation(str(name)).name)
        for name in _FLAGS:
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} must be True or False, got {getattr(self, name)!r}.")
        if self.normalised and self.attention == "softmax":
            raise InputError("normalised=True divides linear attention by T, and softmax weights add up to one already: leave it out.")
        if self.token_variance + self.position_variance == 0:
            raise InputError("s_w and s_p are both zero, so every sequence looks the same to the network: raise one of them.")

    @property
    def columns(self) -> int:
        """Columns of a token array: L + 1 with a readout token, L with mean readout."""
        return self.length if self.readout == "mean" else self.length + 1

    @property
    def symbols(self) -> int:
        """Rows of the embedding table: V, and one more for the class symbol."""
        return self.vocab + (self.readout == "cls")

    @property
    def has_positions(self) -> bool:
        """Whether positional encodings are added anywhere; rotary positions turn queries and keys instead."""
        return self.positions not in ("none", "rotary")

    @property
    def variances(self) -> Variances:
        """The numbers of this architecture.

        >>> Architecture(vocab=4, length=16, s_p=0.5).variances
        Variances(tokens=0.25, positions=0.5, dense=1.0, readout=1.0)
        """
        return Variances(self.token_variance, self.s_p, self.s_1, self.s_2)

    @property
    def structure(self) -> Architecture:
        """This architecture with unit variances: what JAX compiles for, whatever the numbers are."""
        return dataclasses.replace(self, s_w=1.0, s_p=1.0, s_1=1.0, s_2=1.0)

    def with_variances(self, variances: Variances) -> Architecture:
        """This structure with other numbers, one of each kind."""
        tokens, positions, dense, readout = variances
        return dataclasses.replace(self, s_w=tokens, s_p=positions, s_1=dense, s_2=readout)

    @property
    def token_variance(self) -> float:
        """`s_w` as a number, also for the type checker."""
        assert self.s_w is not None  # set in __post_init__
        return self.s_w

    @property
    def position_variance(self) -> float:
        """Variance that positions add to what queries and keys read: `s_p`, or 0 where nothing is added."""
        return self.s_p if self.has_positions else 0.0

    def replace(self, **changes: Any) -> Architecture:
        """A copy with some fields changed; `s_w` stays as it is unless `s_w=None` asks for 1/V again."""
        unknown = set(changes) - {field.name for field in dataclasses.fields(self)}
        if unknown:
            raise unknown_choice("field", unknown.pop(), [field.name for field in dataclasses.fields(self)])
        return dataclasses.replace(self, **changes)

    def __str__(self) -> str:
        words = [f"V={self.vocab} L={self.length}", f"pos={self.positions}({self.s_p!r})", f"{self.attention}/{self.scaling}"]
        words[1] += "" if self.values_see_positions else " qk-only"
        words[2] += " normalised" if self.normalised else ""
        words += [self.activation, self.readout]
        stack = [f"depth={self.depth}"] * (self.depth > 1) + ["causal"] * self.causal + ["residual"] * self.residual
        stack += [f"norm={self.norm}"] * (self.norm != "none") + ["extra"] * self.extra_linear
        scales = [f"s_w={self.s_w!r}"] * (self.s_w != 1.0 / self.vocab)
        scales += [f"{name}={getattr(self, name)!r}" for name in ("s_1", "s_2") if getattr(self, name) != 1.0]
        return " | ".join(words + [" ".join(extra) for extra in (stack, scales) if extra])

    @classmethod
    def parse(cls, notation: str) -> Architecture:
        """The architecture that a line of notation describes; words may come in any order, only V and L are required.

        >>> Architecture.parse("V=3 L=8 | relu depth=2 residual norm=pre").depth
        2
        """
        fields: dict[str, Any] = {}
        for word in notation.replace("|", " ").split():
            for name, value in _read_word(word).items():
                if name in fields:
                    raise InputError(f"{notation!r} sets {name} twice: leave one of the two out.")
                fields[name] = value
        missing = [f"{symbol}=..." for symbol, name in (("V", "vocab"), ("L", "length")) if name not in fields]
        if missing:
            raise InputError(f"{notation!r} does not say {' and '.join(missing)}: write for example 'V=4 L=16 | softmax/sqrt | erf'.")
        return cls(**fields)


def _variance(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} is a variance and must be a number, got {value!r}.") from None
    if not math.isfinite(number) or number < 0:
        raise InputError(f"{name} is a variance and must be finite and not negative, got {value!r}.")
    return number


_FLAG_WORDS = {
    "causal": {"causal": True},
    "residual": {"residual": True},
    "normalised": {"normalised": True},
    "qk-only": {"values_see_positions": False},
    "extra": {"extra_linear": True},
}
_NUMBERS = {"V": ("vocab", int), "L": ("length", int), "depth": ("depth", int)} | {
    name: (name, float) for name in ("s_w", "s_p", "s_1", "s_2")
}


def _read_word(word: str) -> dict[str, Any]:
    """The fields that one word of the notation sets."""
    if word in _FLAG_WORDS:
        return _FLAG_WORDS[word]
    if word in activation_names() or re.fullmatch(r"[\w.]+:[\w.]+", word):
        return {"activation": word}
    if word in _CHOICES["readout"]:
        return {"readout": word}
    if match := re.fullmatch(r"pos=(\w+)(?:\((.*)\))?", word):
        fields = {"positions": match[1]}
        return fields | ({"s_p": _number(word, match[2], float)} if match[2] is not None else {})
    if match := re.fullmatch(r"norm=(\w+)", word):
        return {"norm": match[1]}
    if match := re.fullmatch(r"(\w+)/(\w+)", word):
        return {"attention": match[1], "scaling": match[2]}
    if (match := re.fullmatch(r"(\w+)=(.*)", word)) and match[1] in _NUMBERS:
        name, kind = _NUMBERS[match[1]]
        return {name: _number(word, match[2], kind)}
    known = [*_FLAG_WORDS, *activation_names(), *_CHOICES["readout"], "pos=learned(1)", "softmax/sqrt", "norm=pre", "depth=2"]
    raise unknown_choice("word of notation", word, known)


def _number(word: str, text: str, kind: type) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise InputError(f"{word!r} needs a number, got {text!r}.") from None


def check_architecture(arch: Any) -> None:
    """Raise where it is no architecture."""
    if not isinstance(arch, Architecture):
        raise InputError(f"arch must be an Architecture, got {arch!r}: write specht.Architecture(...) or Architecture.parse(...).")
