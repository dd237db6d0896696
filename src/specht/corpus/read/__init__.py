"""From files to windows of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.corpus.read.corpora import STANDARD_INPUT, Corpus, open_corpus, split_name, spool_standard_input
    from specht.corpus.read.named import DATA, NAMED, locate, named_parts, whereabouts
    from specht.corpus.read.parts import FilePart, fingerprint
    from specht.corpus.read.tokenise import train_bpe
    from specht.corpus.read.vocabulary import UNKNOWN, TypeCounts, Vocabulary

__all__, __getattr__, __dir__ = lazy_names(__name__)
