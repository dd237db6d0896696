"""Nulls of the claims on text: bigram Markov texts, drawn at random and measured as real ones are.

A word of such a text depends on the one before it and on nothing else, so that what two words have to do with each other falls off with
their distance, and depends on which comes first.
"""

from __future__ import annotations

import contextlib
from unittest import mock

import numpy as np
from made_text import NULLS
from null_worlds import measured, null

from specht.corpus import open_corpus
from specht.papers.view_from_infinity import text, text_blocks, texts, third_order

VOCAB, LENGTH, STREAMS = 12, 16, 200
FEW = 4
"""Words of texts whose triples are counted."""


def zipf(vocab):
    """Frequencies that fall as one over the rank."""
    frequencies = 1.0 / np.arange(1.0, vocab + 1)
    return frequencies / frequencies.sum()


def bigram(rng, vocab=VOCAB, steps=200, spread=6.0):
    """A text from a random bigram chain, whose words have Zipf's frequencies on average: many short streams, one behind the other.

    The larger `spread`, the more alike are the words that follow different words; they are the same where it is infinite.
    """
    followers = np.tile(zipf(vocab), (vocab, 1)) if np.isinf(spread) else rng.dirichlet(spread * zipf(vocab), size=vocab)
    cumulated = followers.cumsum(axis=1)
    words = np.empty((STREAMS, steps), dtype=int)
    words[:, 0] = rng.integers(vocab, size=STREAMS)
    for step in range(1, steps):
        passed = rng.random(STREAMS)[:, None] > cumulated[words[:, step - 1]]
        words[:, step] = np.minimum(passed.sum(axis=1), vocab - 1)
    return open_corpus(words.ravel())


def topics(rng, vocab=VOCAB, steps=200, spread=6.0):
    """A text of many parts, each with frequencies of its own, in which words come in no order: its windows are exchangeable."""
    cumulated = rng.dirichlet(spread * zipf(vocab), size=STREAMS).cumsum(axis=1)
    words = (rng.random((STREAMS, steps, 1)) > cumulated[:, None]).sum(axis=2)
    return open_corpus(np.minimum(words, vocab - 1).ravel())


@contextlib.contextmanager
def corpora(rng, draw=bigram, **settings):
    """Every corpus is a text of its own, a bigram Markov text unless another kind is asked for."""
    known = {}

    def opened(name, content, size=None):
        if name not in known:
            known[name] = draw(rng, **settings)
        return known[name]

    with contextlib.ExitStack() as stack:
        for module in (texts, text_blocks, third_order):
            stack.enter_context(mock.patch.object(module, "opened", opened))
        yield


SETTING = {"content": "0", "length": LENGTH, "vocab": VOCAB, "size": None, "draw": 0}


def blocks(corpus=texts.BODY, null=None, unknown=True):
    return measured(text.measure_figure, corpus=corpus, **SETTING, null=null, unknown=unknown, errors=True)


def spectra(null=None, length=LENGTH):
    """Eigenvalues and subspaces, which are said to be those of windows that the claims ask for."""
    found = measured(text.measure_lengths, corpus=texts.BODY, **SETTING, null=null)
    return found._replace(arguments={**found.arguments, "length": length})


def score(corpus, called=None, null=None, metric="chi2-floor"):
    """The score of a corpus, which may be called by the name of another one."""
    found = measured(texts.measure_corpora, corpus=corpus, **SETTING, null=null, metric=metric)
    return found._replace(arguments={**found.arguments, "corpus": called or corpus})


def with_surrogate(corpus, metric="chi2-floor"):
    return [score(corpus, null=null, metric=metric) for null in (None, "bigram")]


def triples():
    given = {"corpus": texts.BODY, "content": "0", "size": None, "length": 6, "vocab": FEW}
    nulls = [(None, 0), ("bigram", 0), *(("window", draw) for draw in range(8))]
    return [measured(third_order.measure_third, **given, null=null, draw=draw) for null, draw in nulls]


SIMILARITY = [f"infinity.f3-similarity{name}" for name in ("", "-gap", "-high", "-markov")]
FIGURE = [
    *SIMILARITY,
    *(f"infinity.f3-{name}" for name in ("eigenvalues", "eigenvalues-short", "eigenvalues-gap", "eigenvalues-chi2")),
    *(f"infinity.f3-{name}" for name in ("subspaces", "subspaces-gap", "off-site")),
]


def figure():
    """Blocks of the text and its null models, and spectra, which are the same for all windows."""
    lengths = [spectra(null=null) for null in (None, "bigram", "window")]
    renamed = [one._replace(arguments={**one.arguments, "length": length}) for one in lengths for length in (16, 32, 64)]
    return [*(blocks(null=null) for null in (None, "bigram", "window")), blocks(unknown=False), *renamed]


@null(*FIGURE, alone=True)
def the_figure_is_of_a_bigram_chain(rng):
    """The text of the figure is a bigram Markov chain, in which a word depends on the one before it alone."""
    with corpora(rng):
        return figure()


@null(*FIGURE, alone=True)
def the_figure_is_of_independent_words(rng):
    """The words of the text in the figure are independent of each other, so that there are no correlations that could be alike."""
    with corpora(rng, spread=np.inf):
        return figure()


def wikitext():
    both_metrics = [one for metric in texts.METRICS for one in with_surrogate(texts.BODY, metric)]
    return [blocks(), spectra(length=64), *both_metrics]


@null("infinity.q8-wikitext", "infinity.q8-markov", alone=True)
def wikitext_is_a_bigram_chain(rng):
    """WikiText-2 is a bigram Markov chain."""
    with corpora(rng):
        return wikitext()


@null("infinity.q8-wikitext", "infinity.q8-markov", alone=True)
def wikitext_has_independent_words(rng):
    """The words of WikiText-2 are independent of each other."""
    with corpora(rng, spread=np.inf):
        return wikitext()


@null("infinity.f3-order", alone=True)
def scores_are_those_of_other_texts(rng):
    """All corpora are bigram Markov chains, and their scores are those of other texts than their cosines."""
    corpora_of_figure = (texts.BODY, texts.CODE, texts.GENOME)
    with corpora(rng):
        scores = [score(f"another {corpus}", called=corpus) for corpus in corpora_of_figure]
        return [*(blocks(corpus) for corpus in corpora_of_figure), *scores]


@null("infinity.f3-iid", alone=True)
def shuffles_leave_bigrams(rng):
    """Text is not independent after all its tokens were shuffled: it still is a bigram Markov chain."""
    with corpora(rng, spread=1.0):
        as_it_is = blocks()
        return [as_it_is, *(as_it_is._replace(arguments={**as_it_is.arguments, "null": null}) for null in NULLS)]


@null("infinity.e5-corpora", alone=True)
def all_corpora_are_bigram_chains(rng):
    """Every corpus is a bigram Markov chain of its own."""
    with corpora(rng):
        return [one for corpus in texts.FEW for one in with_surrogate(corpus)]


@null("infinity.e5-corpora", alone=True)
def all_corpora_have_independent_words(rng):
    """The words of every corpus are independent of each other."""
    with corpora(rng, spread=np.inf):
        return [one for corpus in texts.FEW for one in with_surrogate(corpus)]


@null("infinity.e7-less", alone=True)
def triples_ignore_order_as_pairs_do(rng):
    """Every part of WikiText-2 has words of its own in no order, so that cumulants of three words ignore order as those of two do."""
    with corpora(rng, draw=topics, vocab=FEW, spread=3.0):
        return triples()


@null("infinity.e7-third-order", alone=True)
def triples_are_those_of_a_bigram_chain(rng):
    """WikiText-2 is a bigram Markov chain, whose third cumulants follow from its pairs."""
    with corpora(rng, vocab=FEW, steps=2000, spread=1.0):
        return triples()


@null("infinity.e7-third-order", alone=True)
def there_are_no_triples(rng):
    """The words of WikiText-2 are independent of each other, so that it has no cumulants of two or three of them."""
    with corpora(rng, vocab=FEW, spread=np.inf):
        return triples()
