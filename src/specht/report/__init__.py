"""What people read: figures and self-contained HTML files, made from results and never computing any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.report import scorecard
    from specht.report.contents import ContentsEntry
    from specht.report.figures import (
        GREY,
        HEIGHT,
        SERIES_COLOURS,
        Plot,
        add_band,
        add_guide,
        add_line,
        add_points,
        add_scatter,
        add_series,
        add_thresholds,
        colour,
        eigenvalue_plot,
        error_bars,
        finished,
        finished_bars,
        gram_heatmap,
        image,
        marks,
        matrix_plot,
        plain_ticks,
        ratio_marks,
        style_axes,
        style_counts,
    )
    from specht.report.forecast_figures import best, forecast_plot, learners_plot, main_measure
    from specht.report.function_figures import adjacency_plot, class_plot, correlation_plot, profile_plot, residual_plot, share_plot
    from specht.report.html import fragment, render
    from specht.report.page import (
        Column,
        Page,
        Report,
        Step,
        Table,
        formula,
        in_terminal,
        listed,
        literal,
        percent,
        points_of,
        prose,
        table,
        with_error,
    )
    from specht.report.scorecard import (
        ChangedCriterion,
        JudgedClaim,
        OtherScale,
        PaperSection,
        Section,
        answer,
        claims_in_full,
        scorecard_files,
        scorecard_page,
        verdict_table,
    )
    from specht.report.static import draw, figure_names, require_matplotlib
    from specht.report.symmetry_figures import (
        UNDEFINED,
        add_bars,
        cut_plot,
        in_percent,
        intervals,
        lag_plot,
        length_plot,
        log_marks,
        mark_undefined,
        split_plot,
        stacked_bars,
        style_rows,
    )
    from specht.report.theory_figures import (
        LOSS_NAMES,
        SHOWN_LEVEL,
        WIDTH_COLOURS,
        curve_plot,
        decade_ticks,
        family_colours,
        finite_widths,
        growth_plot,
        is_cut,
        left_out,
        level_plot,
        losses,
        need_plot,
        networks_beside,
        shown,
        spectrum_plot,
    )

__all__, __getattr__, __dir__ = lazy_names(__name__)
