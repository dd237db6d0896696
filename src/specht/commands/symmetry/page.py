"""What `specht symmetry` says: how much of the correlations of a corpus ignores order, and what the rest depends on."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

from specht.commands.symmetry.figures import block_plots, irrep_plot, null_plot, score_plot
from specht.commands.symmetry.labels import labels
from specht.commands.symmetry.method import method
from specht.commands.symmetry.remarks import answer, remarks
from specht.commands.symmetry.tables import detail_tables, score_table
from specht.commands.symmetry.text import defined, null_models
from specht.report.figures import Plot
from specht.report.maths import literal
from specht.report.page import Page
from specht.report.symmetry_figures import cut_plot, lag_plot, length_plot, split_plot


def symmetry_page(result: SimpleNamespace) -> Page:
    """The page on the result of one run; its corpora get their labels here."""
    corpora = result.corpora
    for corpus, label in zip(corpora, labels(corpora), strict=True):
        corpus.label = label
    first, several = corpora[0], len(corpora) > 1
    what = f"{len(corpora)} corpora ·" if several else f"{first.name} · {first.tokens} · V={first.vocab}"
    return Page(
        title="The permutation symmetry of corpora" if several else "The permutation symmetry of a corpus",
        subtitle=f"{what} L={first.length} · {result.metric} metric",
        question=f"How much of the correlations of {'these texts' if several else 'this text'} ignores order?",
        answer=literal(answer(corpora)),
        plots=_plots(corpora),
        tables=[score_table(corpora, literal("\n".join(remarks(corpora, result.blocks)))), *detail_tables(corpora)],
        method=method(result),
    )


def _plots(corpora: Sequence[SimpleNamespace]) -> list[Plot]:
    first, some = corpora[0], bool(defined(corpora))
    plots = [score_plot(corpora)] if len(corpora) > 1 else []
    plots += [split_plot(corpora)] if some else []
    plots += [null_plot(corpora)] if some and null_models(corpora) else []
    plots += [cut_plot(corpora)] if some and len(first.cuts) > 1 else []
    plots += [lag_plot(corpora)] if some and len(first.lags) > 1 else []
    plots += [length_plot(corpora)] if some and len(first.lengths) > 1 else []
    plots += [irrep_plot(corpora)] if any(corpus.isotypic and corpus.isotypic.defined for corpus in corpora) else []
    return plots + block_plots(corpora)
