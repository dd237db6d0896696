"""Results in a real browser, as a notebook would show them: table and figure, quiet, and nothing from outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import toy_results

import specht
from specht.learning.networks import Networks

FEW = Networks(size=specht.nn.Size(8, 4, 2), sampling=specht.nn.Sampling(chains=3, samples=4, burn_in=1.0, duration=1.0))


def network_curve() -> Any:
    options = {"datasets": 2, "n_test": 10, "networks": FEW, "diagnose": False}
    return specht.learning_curve(toy_results.ARCH, toy_results.TASK, [4], by="networks", **options)


RESULTS = toy_results.RESULTS | {
    "network curve": network_curve,
    "forecast": toy_results.forecast,
    "sampled posterior": toy_results.langevin,
}
del RESULTS["curve, several ridges"]  # which has no figure


def shown(browser, path: Path, *pieces: str) -> tuple[Any, list[str], list[str]]:
    path.write_text(f"<!doctype html><meta charset='utf-8'><title>Results</title><link rel='icon' href='data:,'>{''.join(pieces)}", "utf-8")
    page = browser.new_page(viewport={"width": 900, "height": 800})
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_function("document.querySelectorAll('.specht-result').length == document.querySelectorAll('.js-plotly-plot').length")
    return page, complaints, [url for url in requests if not url.startswith(("data:", "blob:")) and url != path.as_uri()]


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_draws_itself_quietly(browser, tmp_path, name):
    result = RESULTS[name]()
    page, complaints, outside = shown(browser, tmp_path / "page.html", result._repr_html_())
    assert page.locator("table").count() == 1
    assert page.locator("thead th").count() == len(result.to_dataframe().columns)
    drawn = page.evaluate("document.querySelector('.js-plotly-plot').data.length")
    assert drawn == len(result.plot().to_dict()["data"])
    assert page.locator(".main-svg").first.is_visible()
    assert (complaints, outside) == ([], [])
    page.close()


def test_many_results_share_the_program_of_the_first(browser, tmp_path):
    profile, spectrum = RESULTS["profile"](), RESULTS["spectrum, linear"]()
    pieces = [result._repr_html_() for result in (profile, spectrum, profile)]
    page, complaints, outside = shown(browser, tmp_path / "page.html", *pieces)
    assert page.locator(".js-plotly-plot").count() == 3
    assert page.evaluate("Array.from(document.scripts).filter(script => script.textContent.includes('plotly.js v')).length") == 1
    assert (complaints, outside) == ([], [])
    page.close()


def test_a_page_that_has_the_program_keeps_its_own(browser, tmp_path):
    from plotly.offline import get_plotlyjs

    program = f"<script>{get_plotlyjs()}</script><script>window.own = window.Plotly;</script>"
    page, complaints, outside = shown(browser, tmp_path / "page.html", program, RESULTS["profile"]()._repr_html_())
    assert page.evaluate("window.Plotly === window.own")
    assert (complaints, outside) == ([], [])
    page.close()
