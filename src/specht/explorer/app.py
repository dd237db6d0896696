# /// script
# [tool.marimo.display]
# theme = "system"
# ///
"""The pages of the explorer, a marimo notebook: each cell lays out what the modules beside it compute.

One cell shows the parameters of the page that is seen and another one what came of them. Between them each page has a cell that has the
work done and says how far it is. A cell runs when a name among its arguments changes; that of a page that is not seen stops at once.
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Specht explorer", css_file="style.css")


@app.cell
def _():
    import marimo as mo

    from specht.explorer import layout, own_data, own_data_controls, reports, scorecards, state, texts
    from specht.report import scorecard

    return layout, mo, own_data, own_data_controls, reports, scorecard, scorecards, state, texts


@app.cell
def _(mo, scorecards, state, texts):
    saved = {card.name: card for card in scorecards.saved_scorecards()}
    present = {"corpus": texts.corpora(), "run": list(saved), "experiment": scorecards.experiment_names()}
    start, complaints = state.from_address(mo.query_params().to_dict(), present)
    first = {name: start if isinstance(start, kind) else kind() for name, kind in state.PAGES.items()}
    return complaints, first, present, saved, start


@app.cell
def _(complaints, layout, mo, start, state):
    nav = mo.ui.tabs(dict.fromkeys(state.TABS.values(), ""), value=state.TABS[state.to_address(start)[state.PAGE]])
    layout.header(complaints, nav)
    return (nav,)


@app.cell
def _(nav, state):
    page = next(name for name, tab in state.TABS.items() if tab == nav.value)
    return (page,)


@app.cell
def _(first, layout, mo, present, reports):
    curve_controls, spectrum_controls = layout.controls(first["curve"]), layout.controls(first["spectrum"])
    text_controls, profile_controls = layout.controls(first["text"], present), layout.controls(first["profile"])
    gp_button, net_button = (mo.ui.run_button(label=label) for label in reports.CHECKS.values())
    text_area = mo.ui.text_area(placeholder="Paste a text here", rows=8, full_width=True, label="text", max_length=None)
    score_button = mo.ui.run_button(label="Score", kind="success")
    stop_button = mo.ui.run_button(label="Cancel")
    tick = mo.ui.refresh(default_interval=layout.TICK)
    return (
        curve_controls,
        gp_button,
        net_button,
        profile_controls,
        score_button,
        spectrum_controls,
        stop_button,
        text_area,
        text_controls,
        tick,
    )


@app.cell
def _(first, mo, own_data_controls):
    table_source, table_file = own_data_controls.source(first["data"]), own_data_controls.upload()
    table_settings = own_data_controls.settings(first["data"])
    refine_button = mo.ui.run_button(label="Refine", kind="success")
    return refine_button, table_file, table_settings, table_source


@app.cell
def _(own_data, own_data_controls, table_file, table_source):
    opened = own_data.opened(table_source.value, table_file.value)
    table_columns = own_data_controls.columns(opened)
    return opened, table_columns


@app.cell
def _(layout, mo, own_data, reports, texts):
    # marimo sees that a state is read only where it goes by a name of its own.
    get_data, set_data = mo.state(None)
    get_curve, set_curve = mo.state(None)
    get_spectrum, set_spectrum = mo.state(None)
    get_text, set_text = mo.state(None)
    get_profile, set_profile = mo.state(None)
    get_papers, set_papers = mo.state(None)
    _setters = {"data": set_data, "curve": set_curve, "spectrum": set_spectrum}
    _setters |= {"text": set_text, "profile": set_profile, "papers": set_papers}
    desks = {name: layout.Desk(setter) for name, setter in _setters.items()}
    checks_wanted, text_wanted = reports.ChecksWanted(), texts.TextWanted()
    budget_wanted, measurements = own_data.BudgetWanted(), own_data.Measurements()
    return (
        budget_wanted,
        checks_wanted,
        desks,
        get_curve,
        get_data,
        get_papers,
        get_profile,
        get_spectrum,
        get_text,
        measurements,
        text_wanted,
    )


@app.cell
def _(own_data_controls, table_settings, table_source):
    data_page = own_data_controls.data_page(table_source, table_settings)
    return (data_page,)


@app.cell
def _(curve_controls, data_page, layout, mo, page, papers_page, profile_controls, spectrum_controls, state, text_controls):
    _values = {"curve": curve_controls, "spectrum": spectrum_controls, "text": text_controls, "profile": profile_controls}
    _pages = {"data": data_page, "papers": papers_page}
    layout.update_address(mo.query_params(), _pages[page] if page in _pages else state.PAGES[page](**_values[page].value))


@app.cell
def _(mo, own_data_controls, page, table_columns, table_file, table_settings, table_source):
    mo.stop(page != "data")
    own_data_controls.data_panel(table_source, table_file, table_columns, table_settings)


@app.cell
def _(
    curve_controls,
    gp_button,
    layout,
    mo,
    net_button,
    page,
    profile_controls,
    score_button,
    spectrum_controls,
    text_area,
    text_controls,
    texts,
):
    mo.stop(page in ("data", "papers"))
    _controls = {"curve": curve_controls, "spectrum": spectrum_controls, "text": text_controls, "profile": profile_controls}
    _buttons = {"curve": [layout.buttons(gp_button, net_button)], "text": [layout.buttons(score_button)]}
    _area = [text_area] if page == "text" and text_controls.value["corpus"] == texts.PASTED else []
    layout.panel(page, _controls[page], *_area, *_buttons.get(page, []))


@app.cell
def _(first, mo, saved):
    _labels = {card.label: name for name, card in saved.items()}
    _chosen = next((label for label, name in _labels.items() if name == first["papers"].run), next(iter(_labels), None))
    run_list = mo.ui.dropdown(_labels, value=_chosen, label="run", full_width=True)
    return (run_list,)


@app.cell
def _(first, mo, run_list, saved, scorecards):
    _names = scorecards.experiments(saved[run_list.value]) if run_list.value else {}
    _labels = {title: name for name, title in _names.items()}
    _chosen = next((title for title, name in _labels.items() if name == first["papers"].experiment), None)
    experiment_list = mo.ui.dropdown(_labels, value=_chosen, label="figures of the experiment", full_width=True)
    return (experiment_list,)


@app.cell
def _(experiment_list, run_list, state):
    papers_page = state.PapersPage(run_list.value or "", experiment_list.value or "")
    return (papers_page,)


@app.cell
def _(experiment_list, layout, mo, page, papers_page, run_list, saved, scorecard, scorecards):
    mo.stop(page != "papers")
    mo.stop(not saved, layout.empty(scorecards.EMPTY, scorecards.COMMAND))
    _saved = saved[papers_page.run]
    _said = scorecard.answer(_saved.claims, _saved.content["config"]["scale"])
    layout.panel(page, {"run": run_list, "experiment": experiment_list}, layout.scorecard_view(_saved.claims, _said))


@app.cell
def _(
    budget_wanted,
    data_page,
    desks,
    layout,
    measurements,
    mo,
    opened,
    own_data,
    own_data_controls,
    page,
    refine_button,
    stop_button,
    table_columns,
    table_settings,
    tick,
):
    mo.stop(page != "data")
    if opened is None:
        desks["data"].clear()
    mo.stop(opened is None, layout.empty(own_data.EMPTY))
    _wish = own_data_controls.wish(opened, data_page, table_columns, table_settings)
    _budget = budget_wanted.on(_wish, refine_button.value, stop_button.value)
    _above = desks["data"].answer(
        (_wish, _budget),
        lambda listener: own_data.data_answer(opened, _wish, _budget, measurements, listener),
        own_data_controls.busy(opened),
        stop_button,
        tick,
        meanwhile=(_wish, budget_wanted.before),
    )
    own_data_controls.refinement(_budget, refine_button) if _above is None else _above


@app.cell
def _(checks_wanted, curve_controls, desks, gp_button, mo, net_button, page, reports, state, stop_button, tick):
    mo.stop(page != "curve")
    _page = state.CurvePage(**curve_controls.value)
    if stop_button.value:
        checks_wanted.clear()
    _checks = checks_wanted.on(_page, {"gp": gp_button.value, "net": net_button.value})
    desks["curve"].answer(
        (_page, _checks),
        lambda progress: reports.curve_report(_page, _checks, progress),
        reports.busy(_checks),
        stop_button,
        tick,
        meanwhile=(_page, ()),
    )


@app.cell
def _(desks, mo, page, reports, spectrum_controls, state, stop_button, tick):
    mo.stop(page != "spectrum")
    _page = state.SpectrumPage(**spectrum_controls.value)
    _busy = "Computing the spectra, the longest first."
    desks["spectrum"].answer(_page, lambda progress: reports.length_report(_page, progress), _busy, stop_button, tick)


@app.cell
def _(desks, layout, mo, page, score_button, state, stop_button, text_area, text_controls, text_wanted, texts, tick):
    mo.stop(page != "text")
    if score_button.value:
        text_wanted.question = (state.TextPage(**text_controls.value), text_area.value)
        desks["text"].work.forget()
    mo.stop(text_wanted.question is None, layout.empty(texts.EMPTY))
    _question = text_wanted.question
    desks["text"].answer(
        _question, lambda progress: texts.text_report(*_question, progress), "Counting pairs of tokens.", stop_button, tick
    )


@app.cell
def _(desks, mo, page, profile_controls, reports, state, stop_button, tick):
    mo.stop(page != "profile")
    _page = state.TargetPage(**profile_controls.value)
    desks["profile"].answer(_page, lambda progress: reports.level_report(_page, progress), "Shuffling sequences.", stop_button, tick)


@app.cell
def _(desks, mo, page, papers_page, saved, scorecards, stop_button, tick):
    mo.stop(page != "papers" or not papers_page.experiment)
    desks["papers"].answer(
        papers_page,
        lambda progress: scorecards.experiment_section(saved[papers_page.run], papers_page.experiment),
        "Drawing the figures.",
        stop_button,
        tick,
    )


@app.cell
def _(get_curve, get_data, get_papers, get_profile, get_spectrum, get_text, layout, mo, page, papers_page):
    _states = {"data": get_data, "curve": get_curve, "spectrum": get_spectrum}
    _states |= {"text": get_text, "profile": get_profile, "papers": get_papers}
    _result = _states[page]()
    mo.stop(_result is None or (page == "papers" and not papers_page.experiment))
    layout.result_view(_result)


if __name__ == "__main__":
    app.run()
