"""Made-up results of the experiments on text: those for which their claims hold, unless a fault is asked for."""

from __future__ import annotations

import numpy as np
import xarray

from specht.corpus.measuring import KINDS
from specht.corpus.stats.shuffles import NULLS
from specht.papers.claims import JobResult
from specht.papers.view_from_infinity import text, texts, third_order

WINDOW = 64
PIECES = 16
BODY = "wikitext-2-body"
NOISE = 0.001 * np.array([1.0, -1.0] * (PIECES // 2))
"""By how much numbers change without each piece."""


def likeness(within, across, *, length=WINDOW, near=None, far=None):
    """A matrix over k with these values; `near` is that of k = 0 and 1, `far` that of 1 and the largest k, if they are others."""
    matrix = np.full((length // 2 + 1, length // 2 + 1), float(within))
    matrix[0, 1:] = matrix[1:, 0] = across
    if near is not None:
        matrix[0, 1] = matrix[1, 0] = near
    if far is not None:
        matrix[1, -1] = matrix[-1, 1] = far
    np.fill_diagonal(matrix, 1.0)
    return matrix


def without_pieces(matrix):
    """The same without each piece: all blocks are a little more alike or less, and k = 0 is a little nearer to the others or farther."""
    apart = 0.5 * (1.0 - np.eye(len(matrix)))
    apart[0, 1:] += 1.0
    apart[1:, 0] += 1.0
    return matrix + NOISE[:, None, None] * apart


def blocks(
    corpus=BODY, raw=(0.96, 0.7), centred=(0.97, 0.85), off=(0.3, -0.1), ratio=0.2, error=0.01, near=None, far=None, low=None, **more
):
    """Blocks of a text or a null model; `low` is the cosine of k = 2 and 0."""
    matrices = [likeness(*raw), likeness(*centred, near=near, far=far), likeness(*off)]
    if low is not None:
        matrices[1][0, 2] = matrices[1][2, 0] = low
    variables = {
        "cosine": (("kind", "k", "other"), np.stack(matrices)),
        "cosine_without": (("piece", "certain", "k", "other"), np.stack([without_pieces(one) for one in matrices[:2]], axis=1)),
        "imaginary": (("kind",), np.full(3, 0.2)),
        "tokens": 1e6,
        "types": 1000.0,
        "ratio": ratio,
        "ratio_stderr": error,
    }
    given = {"corpus": corpus, "content": "0", "vocab": 1000, "length": WINDOW, "size": None, "null": None, "unknown": True, "draw": 0}
    given |= {"errors": True} | more
    k = np.arange(WINDOW // 2 + 1)
    return text.measure_figure.result(variables, {"kind": list(KINDS), "certain": list(KINDS[:2]), "k": k, "other": k}, **given)


def spectra(ks=(0.02, 0.15), weighed=(0.02, 0.15), pca=(0.9, 0.7), length=WINDOW, **more):
    matrices = {
        "kolmogorov": likeness(*ks, length=length),
        "weighed": likeness(*weighed, length=length),
        "overlap": likeness(*pca, length=length),
    }
    for name in ("kolmogorov", "weighed"):
        np.fill_diagonal(matrices[name], 0.0)
    size = length // 2 + 1
    variables = {
        "tokens": 1e6,
        "eigenvalue": (("k", "index"), np.tile(np.linspace(0.0, 1.0, 20) / 10, (size, 1))),
        "weighed_eigenvalue": (("k", "index"), np.tile(np.linspace(0.0, 1.0, 20) / 10, (size, 1))),
    }
    variables |= {name: (("k", "other"), matrix) for name, matrix in matrices.items()}
    variables |= {f"{name}_without": (("piece", "k", "other"), without_pieces(matrix)) for name, matrix in matrices.items()}
    given = {"corpus": BODY, "content": "0", "vocab": 500, "length": length, "size": None, "null": None, "draw": 0} | more
    return text.measure_lengths.result(variables, {"k": np.arange(size), "other": np.arange(size)}, **given)


def score(corpus, value, low=None, high=None, defined=1.0, null=None, metric="chi2-floor"):
    ends = {"low": value - 0.01 if low is None else low, "high": value + 0.01 if high is None else high}
    numbers = {"score": value, **ends, "distance": 0.4, "direction": 0.6 - value, "rms": 0.03, "tokens": 1e6, "types": 500.0}
    given = {"corpus": corpus, "content": "0", "length": WINDOW, "vocab": 500, "size": None, "null": null, "metric": metric, "draw": 0}
    return texts.measure_corpora.result(numbers | {"defined": defined}, **given)


def with_surrogate(corpus, value, low=None, high=None, surrogate=0.02, defined=1.0, metric="chi2-floor"):
    """The scores of a corpus and of its bigram surrogate."""
    return [score(corpus, value, low, high, defined, metric=metric), score(corpus, surrogate, null="bigram", metric=metric)]


SURROGATE = {"centred": (0.97, 0.95), "ratio": 0.15}
"""Blocks of the bigram surrogate: k = 0 hardly stands apart."""
CLOSE = {"ks": (0.1, 0.12), "weighed": (0.1, 0.12), "pca": (0.9, 0.89)}
"""Eigenvalues and subspaces of the bigram surrogate."""


def figure(cosines=(0.84, 0.98), iid=(0.999, 0.75), centre=0.999, surrogate=None, short=None, **measured):
    """The results of the figure: the text and its null models, the text with headings and with `<unk>` in the rest, code and bases."""
    of_spectra = {name: measured.pop(name) for name in ("ks", "weighed", "pca") if name in measured}
    surrogate = (SURROGATE | CLOSE if surrogate is None else surrogate).copy()
    chain = {name: surrogate.pop(name) for name in ("ks", "weighed", "pca") if name in surrogate}
    others = [blocks(name, centred=(cosine, 0.7)) for name, cosine in zip(("stdlib", "ecoli-genome"), cosines, strict=True)]
    return [
        blocks(**measured),
        blocks(null="bigram", **surrogate),
        *(blocks(null=null, raw=iid, centred=(0.999, centre), ratio=1.0) for null in NULLS),
        blocks(unknown=False),
        blocks("wikitext-2", centred=(0.96, 0.85)),
        *others,
        *(spectra(length=length, **(of_spectra if length > 16 or short is None else {"ks": short})) for length in (16, 32, WINDOW)),
        *(spectra(length=length, null="bigram", **chain) for length in (16, 32, WINDOW)),
        spectra(null="window"),
        score(BODY, 0.16),
        score("stdlib", 0.48),
        score("ecoli-genome", 0.08),
    ]


def symmetry(share=(0.14, 0.12, 0.16), plain=(0.06, 0.05, 0.07), surrogate=0.02, defined=1.0, **measured):
    of_spectra = {name: measured.pop(name) for name in ("ks", "weighed", "pca") if name in measured}
    scores = with_surrogate(BODY, *share, surrogate, defined) + with_surrogate(BODY, *plain, surrogate, defined, metric="plain")
    return [blocks(**measured), spectra(**of_spectra), *scores]


def third(values=(0.04, 0.03, 0.05), second=(0.1, 0.09, 0.11), shuffled=1.02, spread=0.005, surrogate=0.005, defined=1.0):
    found = []
    shuffles = [(shuffled + spread * sign, draw) for draw, sign in enumerate((1, -1) * 4)]
    nulls = [
        (None, 0, values, second),
        *(("window", draw, (value, value - 0.06, value + 0.06), (1.0, 0.99, 1.01)) for value, draw in shuffles),
        ("bigram", 0, (surrogate, surrogate - 0.001, surrogate + 0.001), (0.05, 0.04, 0.06)),
    ]
    for null, draw, three, two in nulls:
        names = ("third", "third_low", "third_high", "second", "second_low", "second_high")
        numbers = dict(zip(names, (*three, *two), strict=True)) | {"defined": defined, "tokens": 2e6}
        numbers["third_stderr"] = (numbers["third_high"] - numbers["third_low"]) / 4
        given = {"corpus": BODY, "content": "0", "size": None, "draw": draw, "length": 16, "vocab": 20, "null": null}
        found.append(third_order.measure_third.result(numbers, **given))
    return found


def lost(corpus, like):
    """What a job of that kind gives where its corpus is missing."""
    return JobResult(
        {**like.arguments, "corpus": corpus, "content": None}, xarray.Dataset(coords={"reason": f"{corpus} is not here."}), like.function
    )
