"""Made-up results of the experiments on text: those for which their claims hold, unless a fault is asked for."""

from __future__ import annotations

import numpy as np
import xarray

from specht.corpus.measuring import KINDS
from specht.corpus.stats.shuffles import NULLS
from specht.papers.claims import JobResult
from specht.papers.view_from_infinity import text, texts, third_order

WINDOW = 64
K = WINDOW // 2 + 1


def likeness(within, across):
    """A matrix over k with these values."""
    matrix = np.full((K, K), float(within))
    matrix[0, 1:] = matrix[1:, 0] = across
    np.fill_diagonal(matrix, 1.0)
    return matrix


def blocks(corpus="wikitext-2", raw=(0.96, 0.7), centred=(0.96, 0.85), off=(0.3, -0.1), ks=(0.02, 0.15), pca=(0.9, 0.7), ratio=0.2, **more):
    variables = {
        "cosine": (("kind", "k", "other"), np.stack([likeness(*each) for each in (raw, centred, off)])),
        "imaginary": ("kind", np.full(3, 0.2)),
        "tokens": 1e6,
        "types": 1000.0,
        "eigenvalue": (("k", "index"), np.tile(np.linspace(0.0, 1.0, 20) / 10, (K, 1))),
        "kolmogorov": (("k", "other"), likeness(*ks)),
        "overlap": (("k", "other"), likeness(*pca)),
        "ratio": ratio,
    }
    given = {"corpus": corpus, "content": "0", "vocab": 1000, "length": WINDOW, "size": None, "null": None, "unknown": True, "seed": 0}
    given |= {"spectra": corpus == "wikitext-2"} | more
    return text.measure_text.result(variables, {"kind": list(KINDS), "k": np.arange(K), "other": np.arange(K)}, **given)


def score(corpus, value, low=None, high=None, defined=1.0):
    ends = {"low": value - 0.01 if low is None else low, "high": value + 0.01 if high is None else high}
    numbers = {"score": value, **ends, "distance": 0.4, "direction": 0.6 - value, "rms": 0.03, "tokens": 1e6, "types": 500.0}
    given = {"corpus": corpus, "content": "0", "length": WINDOW, "vocab": 500, "size": None, "seed": 0}
    return texts.measure_corpora.result(numbers | {"defined": defined}, **given)


def figure(cosines=(0.84, 0.97), iid=(0.999, 0.75), **measured):
    """The results of the figure: the text, its shuffles, the text with `<unk>` in the rest, code and bases."""
    shuffles = [blocks(null=null, raw=iid, ratio=1.0) for null in NULLS]
    others = [blocks(name, centred=(cosine, 0.7)) for name, cosine in zip(("stdlib", "ecoli-genome"), cosines, strict=True)]
    scores = [score("wikitext-2", 0.16), score("stdlib", 0.48), score("ecoli-genome", 0.08)]
    return [blocks(**measured), *shuffles, blocks(unknown=False, spectra=False), *others, *scores]


def symmetry(share=(0.14, 0.12, 0.15), defined=1.0, **measured):
    return [blocks(**measured), score("wikitext-2-body", *share, defined)]


def third(values=(0.04, 0.03, 0.05), second=(0.1, 0.09, 0.11), shuffled=1.02, defined=1.0):
    found = []
    for null, three, two in ((None, values, second), ("window", (shuffled, shuffled - 0.06, shuffled + 0.06), (1.0, 0.99, 1.01))):
        names = ("third", "third_low", "third_high", "second", "second_low", "second_high")
        numbers = dict(zip(names, (*three, *two), strict=True)) | {"third_stderr": 0.01, "defined": defined, "tokens": 2e6}
        given = {"corpus": "wikitext-2-body", "content": "0", "size": None, "seed": 0, "length": 16, "vocab": 20, "null": null}
        found.append(third_order.measure_third.result(numbers, **given))
    return found


def lost(corpus, like):
    """What a job of that kind gives where its corpus is missing."""
    return JobResult(
        {**like.arguments, "corpus": corpus, "content": None}, xarray.Dataset(coords={"reason": f"{corpus} is not here."}), like.function
    )
