"""What was found of a corpus as plain values and named variables: what files, tables and figures are made of."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from specht.corpus.stats.harmonics import Harmonics, Likeness
from specht.corpus.stats.isotypic import IsotypicEnergies
from specht.corpus.stats.third import ThirdScore
from specht.results import Variable

if TYPE_CHECKING:
    from specht.corpus.measuring import MeasuredCorpus
    from specht.corpus.stats.exchangeability import Score

_MEANINGS = {
    "score": "share of the correlations between positions that ignores order",
    "low": "lower end of the 95 % interval of the score",
    "high": "upper end of the 95 % interval of the score",
    "distance": "share of the correlations that depends on the distance of two tokens",
    "direction": "share of the correlations that depends on which token comes first",
    "rms": "root mean square correlation of two positions, over the norm of the covariance of one",
    "defined": "whether correlations can be told from none",
    "plug_in": "the score with the bias of sampling noise",
}


def measured_summary(measured: MeasuredCorpus) -> dict[str, Any]:
    """Scores, lags, irreps, third cumulants and blocks C(k) as plain values."""
    return {
        **measured.main.summary(),
        "lengths": [score.summary() for score in measured.symmetry.lengths],
        "cuts": [score.summary() for score in measured.symmetry.cuts],
        "lags": [energy._asdict() for energy in measured.symmetry.lags],
        "isotypic": None if measured.isotypic is None else _shares(measured.isotypic),
        "third": None if measured.third is None else _third(measured.third),
        "harmonics": {blocks.kind: _blocks(blocks) for blocks in measured.harmonics},
    }


def score_variables(scores: Sequence[Score], dims: str | tuple[str, ...], before: str = "") -> list[Variable]:
    """The fields of scores along a dimension; of a single one, along none."""
    columns = {name: [getattr(score, name) for score in scores] for name in _MEANINGS}
    return [Variable(f"{before}{name}", dims, values if dims else values[0], _MEANINGS[name]) for name, values in columns.items()]


def measured_variables(measured: MeasuredCorpus) -> list[Variable]:
    """Scores along the length of the windows first, then along the smallest lag, and correlations along the lag."""
    symmetry, lags = measured.symmetry, measured.symmetry.lags
    words = {name: f"{name} of the correlations at each lag" for name in ("rms", "low", "high", "direction")}
    return [
        Variable("length", "length", [score.length for score in symmetry.lengths], "tokens of a window", "tokens"),
        *score_variables(symmetry.lengths, "length"),
        Variable("from_lag", "from_lag", [score.from_lag for score in symmetry.cuts], "smallest lag of the correlations", "tokens"),
        *score_variables(symmetry.cuts, "from_lag", "cut_"),
        Variable("lag", "lag", [energy.lag for energy in lags], "distance of two tokens", "tokens"),
        *(Variable(f"lag_{name}", "lag", [getattr(energy, name) for energy in lags], meaning) for name, meaning in words.items()),
    ]


def _shares(energies: IsotypicEnergies) -> dict[str, Any]:
    shares = {part: _plain(share) for part, share in energies.shares.items()}
    return {"shares": shares, "diagonal": _plain(energies.diagonal), "defined": energies.defined}


def _third(third: ThirdScore) -> dict[str, Any]:
    return _plain(third.score) | {"z": third.z, "defined": third.defined}


def _plain(estimate: Any) -> dict[str, float]:
    return {name: getattr(estimate, name) for name in ("value", "low", "high")}


def _blocks(harmonics: Harmonics) -> dict[str, Any]:
    """Similarities of the blocks C(k), and their eigenvalues where they are known."""
    values: dict[str, Any] = {"cosines": harmonics.cosines.matrix.tolist()} | _spreads(harmonics.cosines)
    values["imaginary"] = harmonics.imaginary
    if harmonics.eigenvalues is not None:
        spectra = harmonics.spectra()
        values["spectra"] = {str(k): spectra[k].tolist() for k in _waves(len(spectra) - 1)}
        values["kolmogorov"] = _spreads(harmonics.kolmogorov())
    return values | ({"overlaps": _spreads(harmonics.overlaps)} if harmonics.overlaps is not None else {})


def _spreads(likeness: Likeness) -> dict[str, Any]:
    """How alike blocks k ≠ 0 are, and how alike k = 0 is to them."""
    return {"within": dataclasses.asdict(likeness.within), "across": dataclasses.asdict(likeness.across)}


def _waves(largest: int) -> list[int]:
    """Wave numbers whose eigenvalues are shown: 0, 1, 2, 4, ..., and the largest.

    >>> _waves(12)
    [0, 1, 2, 4, 8, 12]
    """
    powers = [2**power for power in range(largest.bit_length()) if 2**power < largest]
    return [0, *powers, largest]
