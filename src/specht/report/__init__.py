"""What people read: figures and self-contained HTML files, made from results and never computing any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.report import scorecard as scorecard
    from specht.report.figures import (
        GREY as GREY,
        HEIGHT as HEIGHT,
        SERIES_COLOURS as SERIES_COLOURS,
        Plot as Plot,
        add_band as add_band,
        add_guide as add_guide,
        add_line as add_line,
        add_points as add_points,
        add_scatter as add_scatter,
        add_series as add_series,
        add_thresholds as add_thresholds,
        colour as colour,
        eigenvalue_plot as eigenvalue_plot,
        error_bars as error_bars,
        finished as finished,
        finished_bars as finished_bars,
        gram_heatmap as gram_heatmap,
        image as image,
        marks as marks,
        matrix_plot as matrix_plot,
        plain_ticks as plain_ticks,
        ratio_marks as ratio_marks,
        style_axes as style_axes,
        style_counts as style_counts,
    )
    from specht.report.forecast_figures import (
        accuracy_plot as accuracy_plot,
        architectures_plot as architectures_plot,
        best as best,
        forecast_plot as forecast_plot,
    )
    from specht.report.function_figures import (
        adjacency_plot as adjacency_plot,
        class_plot as class_plot,
        correlation_plot as correlation_plot,
        profile_plot as profile_plot,
        residual_plot as residual_plot,
        share_plot as share_plot,
    )
    from specht.report.html import fragment as fragment, render as render
    from specht.report.page import (
        Column as Column,
        Page as Page,
        Report as Report,
        Step as Step,
        Table as Table,
        formula as formula,
        in_terminal as in_terminal,
        listed as listed,
        literal as literal,
        percent as percent,
        points_of as points_of,
        prose as prose,
        table as table,
        with_error as with_error,
    )
    from specht.report.scorecard import (
        JudgedClaim as JudgedClaim,
        PaperSection as PaperSection,
        Section as Section,
        answer as answer,
        claims_in_full as claims_in_full,
        scorecard_files as scorecard_files,
        scorecard_page as scorecard_page,
        verdict_table as verdict_table,
    )
    from specht.report.static import draw as draw, figure_names as figure_names, require_matplotlib as require_matplotlib
    from specht.report.symmetry_figures import (
        UNDEFINED as UNDEFINED,
        add_bars as add_bars,
        cut_plot as cut_plot,
        in_percent as in_percent,
        intervals as intervals,
        lag_plot as lag_plot,
        length_plot as length_plot,
        log_marks as log_marks,
        mark_undefined as mark_undefined,
        split_plot as split_plot,
        stacked_bars as stacked_bars,
        style_rows as style_rows,
    )
    from specht.report.theory_figures import (
        LOSS_NAMES as LOSS_NAMES,
        SHOWN_LEVEL as SHOWN_LEVEL,
        WIDTH_COLOURS as WIDTH_COLOURS,
        curve_plot as curve_plot,
        decade_ticks as decade_ticks,
        family_colours as family_colours,
        finite_widths as finite_widths,
        growth_plot as growth_plot,
        is_cut as is_cut,
        left_out as left_out,
        level_plot as level_plot,
        losses as losses,
        need_plot as need_plot,
        networks_beside as networks_beside,
        shown as shown,
        spectrum_plot as spectrum_plot,
    )

__all__, __getattr__, __dir__ = lazy_names(__name__)
