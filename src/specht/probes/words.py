"""What a probe found, in words. Positions are counted from 1 here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from specht.probes.outputs import EPSILON
from specht.probes.stabilisers import IGNORED

if TYPE_CHECKING:
    from specht.probes.result import Probe, ProbedLayer, View


def spans(positions: Sequence[int]) -> str:
    """Positions, which are counted from 0, in words, where they are counted from 1.

    >>> spans([0, 1, 2, 4, 6, 7]), spans([0, 1]), spans([3])
    ('1–3, 5, 7, 8', '1, 2', '4')
    """
    runs: list[list[int]] = []
    for position in positions:
        if runs and position == runs[-1][-1] + 1:
            runs[-1].append(position)
        else:
            runs.append([position])
    words = [[f"{run[0] + 1}–{run[-1] + 1}"] if len(run) > 2 else [str(place + 1) for place in run] for run in runs]
    return ", ".join(word for run in words for word in run)


def describe_classes(classes: Sequence[Sequence[int]]) -> str:
    """Classes of more than one position.

    >>> describe_classes([(0, 1, 2), (3,), (4, 5)]), describe_classes([(0, 1, 2), (3,)])
    ('{1–3} {5, 6}', '1–3')
    """
    several = [spans(positions) for positions in classes if len(positions) > 1]
    return several[0] if len(several) == 1 else " ".join(f"{{{words}}}" for words in several)


def describe_view(view: View) -> str:
    """What an output ignores and what it does not distinguish."""
    ignored = view.ignored
    if len(ignored) == len(view.labels):
        return "ignores every position"
    read = [positions for positions in view.classes if positions[0] not in ignored]
    if ignored and len(read) == len(read[0]) == 1:
        return f"reads {spans(read[0])} only"
    words = []
    if ignored:
        words.append(f"ignores {spans(ignored)}")
    alike = describe_classes(read)
    words.append(f"does not tell apart {alike}" if alike else f"tells {'the others' if ignored else 'all positions'} apart")
    if motions := _motions(view):
        words.append(f"ignores {motions} of the context")
    return ", ".join(words)


def verdict_on(probe: Probe) -> str:
    """One or two sentences: whether the output sees order, by how much, and from which layer on."""
    view, precision = probe.output.readout, probe.precision
    context = f"{probe.length} context positions"
    if len(view.ignored) == len(view.labels):
        return f"The output is the same for all {probe.sequences} sequences that were tried: it ignores every token ({precision})."
    if not view.invariant:
        first = _sees(probe)
    elif set(range(probe.length)) <= set(view.ignored):
        first = f"The output ignores order, because it reads none of the {context} ({precision})."
    else:
        change = f"by more than {fraction(probe.residual.value)} of its spread" if probe.residual.change else "at all"
        first = f"The output ignores order: none of {probe.permutations} permutations of the {context} changes it {change} ({precision})."
    return " ".join(filter(None, [first, _by_layer(probe)]))


def _sees(probe: Probe) -> str:
    view, exchange, residual = probe.output.readout, probe.output.exchange, probe.output.exchange_residual
    if exchange is None or residual is None or residual.change <= view.tolerance:  # harmless on the sequences that were tried
        if probe.residual.change > view.tolerance:
            return f"The output sees order: a permutation of the context changes it by {fraction(probe.residual.value)} of its spread."
        return "The output sees order: it reads some positions and not others, though no permutation that was tried changed it."
    changes = f"exchanging positions {exchange[0] + 1} and {exchange[1] + 1} changes it by {fraction(residual.value)} of its spread"
    read = [positions for positions in view.classes if len(positions) > 1 and positions[0] not in view.ignored]
    kept = [f"It does not tell apart positions {describe_classes(read)}."] if read else []
    if view.ignored:
        kept.append(f"It does not read position{'s' * (len(view.ignored) > 1)} {spans(view.ignored)}.")
    if motions := _motions(view):
        kept.append(f"It ignores {motions} of the context.")
    return " ".join([f"The output sees order: {changes}.", *kept])


def _motions(view: View) -> str:
    """Rotations and the reversal of the context, where they change nothing and are not products of exchanges within classes.

    A function that a motion does not change has classes that the motion takes to classes, read ones to read ones. Where it does not, the
    function changes under it on sequences that were not tried.
    """
    context = view.labels[: view.length]
    rotation = view.rotation and len(set(context)) > 1 and _keeps_classes(context, (*context[1:], context[0]))
    reversal = view.reversal and context != context[::-1] and _keeps_classes(context, context[::-1])
    return " and ".join(["rotations"] * rotation + ["the reversal"] * reversal)


def _keeps_classes(labels: Sequence[int], moved: Sequence[int]) -> bool:
    """Whether the classes of positions are the same after a motion, whatever their numbers; those that are ignored stay ignored.

    >>> _keeps_classes([0, 1, 0, 1], [1, 0, 1, 0]), _keeps_classes([0, -1, -1], [-1, -1, 0]), _keeps_classes([0, 0, 1], [0, 1, 0])
    (True, False, False)
    """
    pairs = set(zip(labels, moved, strict=True))
    ignored = all((one == IGNORED) == (other == IGNORED) for one, other in pairs)
    return ignored and len(pairs) == len(set(labels)) == len(set(moved))


def _by_layer(probe: Probe) -> str:
    """Which layers see order."""
    hidden = probe.layers[:-1]
    if not hidden:
        return ""
    where = "at the last position" if probe.readout == "last" else "averaged over positions"
    names = [layer.name if layer.name.startswith("layer ") else repr(layer.name) for layer in hidden]
    ignores = [layer.readout.invariant for layer in hidden]
    last = sum(ignores)
    if all(ignores):
        says = "ignore order in " + (f"every layer, {names[0]} to {names[-1]}" if len(names) > 1 else names[0])
    elif not any(ignores):
        says = f"see it from {names[0]} on"
    elif all(ignores[:last]):
        says = f"ignore order up to {names[last - 1]} and see it from {names[last]} on"
    else:
        says = f"see order in {', '.join(name for name, own in zip(names, ignores, strict=True) if not own)} only"
    return f"Hidden states {where} {says}."


def remarks_on(probe: Probe) -> tuple[str, ...]:
    """What has to be known to read the numbers, a sentence or two each."""
    remarks = list(probe.notes)
    small = EPSILON["float32"] ** (2 / 3) * probe.residual.scale
    if not probe.invariant and probe.precision == "float64" and 0.0 < probe.residual.change <= small:
        remarks.append(
            f"A change of {fraction(probe.residual.value)} of the spread may be the rounding of a model that computes in float32 and "
            "returns float64: return float32 to be judged by its precision."
        )
    unsure = [layer.name for layer in probe.layers if not all(view.confirmed for view in (*layer.views, layer.readout))]
    if unsure:
        remarks.append(
            f"In {', '.join(unsure)} permutations change what none of the exchanges they are made of did: the differences show in few "
            "sequences, so draw more of them."
        )
    if probe.vocab > probe.sequences:
        remarks.append(
            f"There are {probe.vocab} tokens and {probe.sequences} sequences were tried: what hangs on single tokens may be missed, so "
            "draw more of them."
        )
    return (*remarks, *_refusals(probe.layers))


def _refusals(layers: Sequence[ProbedLayer]) -> list[str]:
    """Why layers have no profile, one sentence a reason."""
    notes: dict[str, list[str]] = {}
    for layer in layers:
        if layer.profile_note:
            notes.setdefault(layer.profile_note, []).append(layer.name)
    return [f"No profile of {', '.join(names)}: {note}" for note, names in notes.items()]


def fraction(value: float, digits: int = 0) -> str:
    """A residual with two digits; where it is small, with as many after the point as wanted.

    >>> fraction(0.4321), fraction(4.04e-15), fraction(0.0), fraction(4.04e-15, digits=1)
    ('0.43', '4e-15', '0', '4.0e-15')
    """
    return f"{value:.2g}" if value >= 1e-3 or not value else f"{value:.{digits}e}".replace("e-0", "e-")
