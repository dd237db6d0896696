"""The formulas behind the kernel of an architecture, for the method section of a report."""

from __future__ import annotations

from collections.abc import Iterable

from specht.activations import activation
from specht.architecture import Architecture
from specht.report import Step

KERNEL_NAMES = {"nngp": "NNGP kernel", "ntk": "NTK"}


def kernel_steps(architecture: Architecture, kinds: Iterable[str]) -> list[Step]:
    """How the kernels of these kinds come about, layer by layer."""
    definitions = {"nngp": "NNGP:  k(x, y) = E[ f(x) f(y) ]", "ntk": "NTK:  Θ(x, y) = E[ ∇_θ f(x) · ∇_θ f(y) ]"}
    steps = [
        Step(
            "For width, heads and head size going to infinity the network f becomes a Gaussian process, and training by gradient flow "
            "follows a fixed kernel. Both are expectations over random weights θ:",
            [definitions[kind] for kind in kinds],
        ),
        Step(
            "Tokens and positions enter as the covariance of the embeddings of position a of x and position b of y:",
            _embedding(architecture),
        ),
        _attention(architecture),
        _dense(architecture),
    ]
    if architecture.depth > 1 or architecture.residual or architecture.norm != "none":
        parts = [f"{architecture.depth} {'block' if architecture.depth == 1 else 'blocks'}"]
        parts += ["a residual connection around attention and dense layer"] * architecture.residual
        parts += [f"{architecture.norm}-layer norm"] * (architecture.norm != "none")
        steps.append(Step(f"This is carried through {', '.join(parts)}."))
    return steps


def _embedding(architecture: Architecture) -> list[str]:
    tokens = "s_w [x_a = y_b]"
    position = {"learned": " + s_p [a = b]", "sinusoidal": " + s_p p(a) · p(b)"}.get(architecture.positions, "")
    if position and not architecture.values_see_positions:
        return [f"queries and keys:  K_{{ab}}(x, y) = {tokens}{position}", f"values:  V_{{ab}}(x, y) = {tokens}"]
    return [f"K_{{ab}}(x, y) = {tokens}{position}"]


def _attention(architecture: Architecture) -> Step:
    transform = "A = S" if architecture.attention == "linear" else "A_{ac} = exp S_{ac} / Σ_e exp S_{ae}"
    if architecture.normalised:
        transform = "A = S / (number of visible positions)"
    if architecture.causal:
        transform += ",  only c ≤ a"
    scores = "S_{ac}(x) = K_{ac}(x, x)" if architecture.scaling == "tied" else "E[ S_{ac}(x) S_{bd}(y) ] = K_{ab} K_{cd}"
    kind = "equal the covariance itself" if architecture.scaling == "tied" else "are Gaussian"
    values = "K" if architecture.values_see_positions or architecture.positions == "none" else "V"
    return Step(
        f"The scores S of a head {kind}, they weigh the values, and heads add up independently:",
        [scores, transform, f"K¹_{{ab}} = Σ_{{cd}} E[ A_{{ac}}(x) A_{{bd}}(y) ] {values}_{{cd}}"],
    )


def _dense(architecture: Architecture) -> Step:
    phi = activation(architecture.activation)
    where = "averaged over all pairs of positions" if architecture.readout == "mean" else "at the last position"
    return Step(
        f"The dense layer maps this covariance through its activation, and the readout takes it {where}:",
        ["Λ = s_1 K¹", phi.formula or f"F = E[ φ(u) φ(v) ],   (u, v) ~ N(0, Λ),   φ = {phi.name}", "k = s_2 F"],
    )
