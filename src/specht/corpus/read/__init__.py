"""From files to windows of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.corpus.read.corpora import (
        STANDARD_INPUT as STANDARD_INPUT,
        Corpus as Corpus,
        open_corpus as open_corpus,
        split_name as split_name,
        spool_standard_input as spool_standard_input,
    )
    from specht.corpus.read.named import (
        DATA as DATA,
        NAMED as NAMED,
        locate as locate,
        named_parts as named_parts,
        whereabouts as whereabouts,
    )
    from specht.corpus.read.parts import FilePart as FilePart, fingerprint as fingerprint
    from specht.corpus.read.tokenise import train_bpe as train_bpe
    from specht.corpus.read.vocabulary import UNKNOWN as UNKNOWN, TypeCounts as TypeCounts, Vocabulary as Vocabulary

__all__, __getattr__, __dir__ = lazy_names(__name__)
