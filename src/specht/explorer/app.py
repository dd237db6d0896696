# /// script
# [tool.marimo.display]
# theme = "system"
# ///
"""The pages of the explorer, a marimo notebook: each cell lays out what the modules beside it compute.

A page has a cell for its parameters, one that has the work done and says how far it is, and one for what came of it. A cell runs when a
name among its arguments changes; where a page is not the one that is seen, its cells stop at once.
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Specht explorer", css_file="style.css")


@app.cell
def _():
    import marimo as mo

    from specht.explorer import curves, diagrams, layout, profiles, scorecards, spectra, state, texts, work
    from specht.report import scorecard

    return curves, diagrams, layout, mo, profiles, scorecard, scorecards, spectra, state, texts, work


@app.cell
def _(mo, scorecards, state, texts):
    saved = {each.name: each for each in scorecards.saved_scorecards()}
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
def _(curves, first, layout, mo, present, work):
    curve_controls, spectrum_controls = layout.controls(first["curve"]), layout.controls(first["spectrum"])
    text_controls, profile_controls = layout.controls(first["text"], present), layout.controls(first["profile"])
    gp_button, net_button = (mo.ui.run_button(label=label) for label in curves.CHECKS.values())
    text_area = mo.ui.text_area(placeholder="Paste a text here", rows=8, full_width=True, label="text", max_length=None)
    score_button = mo.ui.run_button(label="Score", kind="success")
    stop_button = mo.ui.run_button(label="Cancel")
    tick = mo.ui.refresh(default_interval=layout.TICK)
    works = {name: work.Work() for name in first}
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
        works,
    )


@app.cell
def _(curve_controls, layout, mo, page, papers_page, profile_controls, spectrum_controls, state, text_controls):
    _values = {"curve": curve_controls, "spectrum": spectrum_controls, "text": text_controls, "profile": profile_controls}
    _page = papers_page if page == "papers" else state.PAGES[page](**_values[page].value)
    layout.update_address(mo.query_params(), _page)


@app.cell
def _(curve_controls, gp_button, layout, mo, net_button, page):
    mo.stop(page != "curve")
    layout.panel(page, curve_controls, layout.buttons(gp_button, net_button))


@app.cell
def _(curves, layout, mo):
    get_curve, set_curve = mo.state(None)
    curve_screen, asked = layout.Screen(set_curve), curves.Asked()
    return asked, curve_screen, get_curve


@app.cell
def _(asked, curve_controls, curve_screen, curves, gp_button, layout, mo, net_button, page, state, stop_button, tick, works):
    mo.stop(page != "curve")
    tick.value  # looks again at every tick
    _page = state.CurvePage(**curve_controls.value)
    if stop_button.value:
        works["curve"].stop()
        asked.clear()
    _checks = asked.on(_page, {"gp": gp_button.value, "net": net_button.value})
    _answer = works["curve"].ask((_page, _checks), lambda progress: curves.curve_report(_page, _checks, progress))
    curve_screen.show(_answer.result or works["curve"].known((_page, ())))
    layout.progress(_answer, curves.busy(_checks), stop_button, tick)


@app.cell
def _(get_curve, layout, mo, page):
    mo.stop(page != "curve" or get_curve() is None)
    layout.report_view(get_curve())


@app.cell
def _(layout, mo, page, spectrum_controls):
    mo.stop(page != "spectrum")
    layout.panel(page, spectrum_controls)


@app.cell
def _(layout, mo):
    get_spectrum, set_spectrum = mo.state(None)
    spectrum_screen = layout.Screen(set_spectrum)
    return get_spectrum, spectrum_screen


@app.cell
def _(layout, mo, page, spectra, spectrum_controls, spectrum_screen, state, stop_button, tick, works):
    mo.stop(page != "spectrum")
    tick.value
    _page = state.SpectrumPage(**spectrum_controls.value)
    if stop_button.value:
        works["spectrum"].stop()
    _answer = works["spectrum"].ask(_page, lambda progress: spectra.length_report(_page, progress))
    spectrum_screen.show(_answer.result)
    layout.progress(_answer, "Computing the spectra, the longest first.", stop_button, tick)


@app.cell
def _(diagrams, get_spectrum, layout, mo, page):
    mo.stop(page != "spectrum" or get_spectrum() is None)
    layout.report_view(get_spectrum().report, diagrams.legend(get_spectrum().irreps))


@app.cell
def _(layout, mo, page, score_button, text_area, text_controls, texts):
    mo.stop(page != "text")
    _area = [text_area] if text_controls.value["corpus"] == texts.PASTED else []
    layout.panel(page, text_controls, *_area, layout.buttons(score_button))


@app.cell
def _(layout, mo, texts):
    get_text, set_text = mo.state(None)
    text_screen, text_asked = layout.Screen(set_text), texts.Asked()
    return get_text, text_asked, text_screen


@app.cell
def _(layout, mo, page, score_button, state, stop_button, text_area, text_asked, text_controls, text_screen, texts, tick, works):
    mo.stop(page != "text")
    tick.value
    if score_button.value:
        text_asked.question = (state.TextPage(**text_controls.value), text_area.value)
        works["text"].forget()
    mo.stop(text_asked.question is None, layout.empty(texts.EMPTY))
    if stop_button.value:
        works["text"].stop()
    _question = text_asked.question
    _answer = works["text"].ask(_question, lambda progress: texts.text_report(*_question, progress))
    text_screen.show(_answer.result)
    layout.progress(_answer, "Counting pairs of tokens.", stop_button, tick)


@app.cell
def _(get_text, layout, mo, page):
    mo.stop(page != "text" or get_text() is None)
    layout.report_view(get_text())


@app.cell
def _(layout, mo, page, profile_controls):
    mo.stop(page != "profile")
    layout.panel(page, profile_controls)


@app.cell
def _(layout, mo):
    get_profile, set_profile = mo.state(None)
    profile_screen = layout.Screen(set_profile)
    return get_profile, profile_screen


@app.cell
def _(layout, mo, page, profile_controls, profile_screen, profiles, state, stop_button, tick, works):
    mo.stop(page != "profile")
    tick.value
    _page = state.TargetPage(**profile_controls.value)
    if stop_button.value:
        works["profile"].stop()
    _answer = works["profile"].ask(_page, lambda progress: profiles.level_report(_page, progress))
    profile_screen.show(_answer.result)
    layout.progress(_answer, "Shuffling sequences.", stop_button, tick)


@app.cell
def _(get_profile, layout, mo, page):
    mo.stop(page != "profile" or get_profile() is None)
    layout.report_view(get_profile())


@app.cell
def _(first, mo, saved):
    _labels = {each.label: name for name, each in saved.items()}
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
def _(layout, mo):
    get_experiment, set_experiment = mo.state(None)
    experiment_screen = layout.Screen(set_experiment)
    return experiment_screen, get_experiment


@app.cell
def _(experiment_screen, layout, mo, page, papers_page, saved, scorecards, stop_button, tick, works):
    mo.stop(page != "papers" or not papers_page.experiment)
    tick.value
    if stop_button.value:
        works["papers"].stop()
    _answer = works["papers"].ask(
        papers_page, lambda progress: scorecards.experiment_section(saved[papers_page.run], papers_page.experiment)
    )
    experiment_screen.show(_answer.result)
    layout.progress(_answer, "Drawing the figures.", stop_button, tick)


@app.cell
def _(get_experiment, layout, mo, page, papers_page):
    mo.stop(page != "papers" or not papers_page.experiment or get_experiment() is None)
    layout.section_view(get_experiment())


if __name__ == "__main__":
    app.run()
