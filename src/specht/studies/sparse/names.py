"""What the learners of sparse functions are called, by flags and in sentences. Loading this loads no NumPy."""

from __future__ import annotations

from specht.errors import InputError, unknown_choice

NETWORKS = {"transformer": "The transformer", "perceptron": "The perceptron"}
KERNELS = {
    "transformer-nngp": "The NNGP limit of a linear-attention block",
    "transformer-ntk": "The NTK limit of a linear-attention block",
    "perceptron-nngp": "The perceptron's NNGP limit",
    "perceptron-ntk": "The perceptron's NTK limit",
}
"""The kernels of the transformer are those of one block of linear attention and ReLU, without norm, residual stream or softmax."""
FINITE = "transformer-width-"
"""The theory of finite width, followed by the width of the embedding: any whole number."""
LEARNERS = (*NETWORKS, *KERNELS, f"{FINITE}64")


def finite_width(name: str) -> int | None:
    """The width in the name of a learner; None for those of another kind.

    >>> finite_width("transformer-width-64"), finite_width("transformer")
    (64, None)
    """
    if not name.startswith(FINITE):
        return None
    digits = name.removeprefix(FINITE)
    if not digits.isdecimal() or str(int(digits)) != digits or digits == "0":
        raise InputError(f"The learner {name!r} does not say how wide the embedding is: write {FINITE}64, with any whole number from 1 on.")
    return int(digits)


def check_learner(name: str) -> str:
    """The name of a learner, or an `InputError` that says which there are."""
    if finite_width(name) is None and name not in LEARNERS:
        raise unknown_choice("learner", name, LEARNERS)
    return name


def name_of(learner: str) -> str:
    """A learner as sentences call it.

    >>> name_of("perceptron"), name_of("transformer-width-16")
    ('The perceptron', 'The theory of a linear-attention block of width 16')
    """
    width = finite_width(learner)
    return (NETWORKS | KERNELS)[learner] if width is None else f"The theory of a linear-attention block of width {width}"
