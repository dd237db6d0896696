"""The explorer in a real browser: every page, one server and one window for all, so that the programs of the page are loaded once."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import re
import subprocess
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from specht.commands.app import main
from specht.explorer.state import TABS, TITLES

PATIENCE = 300_000
"""Milliseconds: a machine may have other things to do."""
WIDTHS = {"desktop": 1200, "phone": 390}
FIRST_CURVE = ".js-plotly-plot .scatterlayer .js-line"
WITHOUT_BUTTONS = """[...document.querySelectorAll(".specht-figure")].filter(figure =>
  [...figure.querySelectorAll("[data-picture]")].filter(button => button.checkVisibility()).length !== 2).length"""
"""How many figures lack buttons that are seen without pointing at them, which a telephone cannot. Asked at once, since pages change."""
SVG = "{http://www.w3.org/2000/svg}"
STICKING_OUT = """width => [...document.querySelectorAll("#App *")].filter(element => {
  for (let parent = element.parentElement; parent; parent = parent.parentElement)
    if (getComputedStyle(parent).overflowX !== "visible" && parent.getBoundingClientRect().right <= width) return false;
  const box = element.getBoundingClientRect();
  return box.width > 0 && box.right > width + 1;
}).map(element => element.outerHTML.slice(0, 80))"""
"""Elements that reach beyond the window and do not scroll inside something that fits."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("explorer")


@pytest.fixture(scope="module")
def address(folder) -> Iterator[str]:
    """A server in an empty folder, and the address that it prints."""
    command = [sys.executable, "-m", "specht", "explore", "--no-browser", "--json"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.fixture(scope="module")
def requests() -> list[str]:
    """Every address that the window asks for."""
    return []


@pytest.fixture(scope="module")
def window(browser, address, requests) -> Iterator[Any]:
    page = browser.new_context(viewport={"width": WIDTHS["desktop"], "height": 1400}, accept_downloads=True).new_page()
    page.set_default_timeout(PATIENCE)
    page.context.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    page.get_by_role("heading", name=TITLES["data"], exact=True).wait_for()
    yield page
    page.context.close()


def save(window: Any, label: str) -> Any:
    """Press the first button of a name and give back what is saved."""
    with window.expect_download() as saved:
        window.get_by_text(label).first.click()
    return saved.value


def drop(window: Any, name: str, content: str) -> None:
    """Give a file to the page."""
    window.locator("input[type=file]").set_input_files({"name": name, "mimeType": "text/plain", "buffer": content.encode()})


def turn_to(window: Any, title: str) -> None:
    window.get_by_role("tab", name=title).click()


def wait_for_text(window: Any, pattern: str) -> None:
    window.get_by_text(re.compile(pattern)).first.wait_for()


def home(window: Any) -> str:
    return window.url.split("?")[0]


def ask(address: str, method: str = "GET", path: str = "/", **headers: str) -> tuple[int, str]:
    place = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=120)
    with contextlib.closing(connection):
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")


def test_nobody_gets_in_without_the_token(address):
    for path in ("/", "/assets/index.js", "/api/version", "/?access_token=wrong"):
        status, said = ask(address, path=path)
        assert status == 403
        assert "open the address that `specht explore` printed in the terminal" in said
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec_WebSocket_Version": "13",
        "Sec_WebSocket_Key": "A" * 22 + "==",
    }
    assert ask(address, path="/ws?session_id=s_1", **upgrade)[0] == 403


def test_it_listens_to_this_machine_alone(address):
    assert urllib.parse.urlsplit(address).hostname == "127.0.0.1"
    assert ask(address, Host="evil.example")[0] == 403


def test_the_token_leaves_the_address(window, address):
    assert "access_token" in address
    assert "access_token" not in window.url


def test_another_page_of_the_same_browser_is_refused(window, address):
    """It has the cookie, but not the origin."""
    place = home(window)
    other = window.context.new_page()
    other.route("http://other.example/", lambda route: route.fulfill(body="<p>another page</p>", content_type="text/html"))
    other.goto("http://other.example/")
    fetched = other.evaluate(f"fetch('{place}api/version', {{credentials: 'include'}}).then(() => 'let in', () => 'refused')")
    socket = place.replace("http", "ws") + "ws?session_id=s_1"
    opened = "new Promise(done => { const s = new WebSocket('%s'); s.onopen = () => done('let in'); s.onerror = () => done('refused'); })"
    assert (fetched, other.evaluate(opened % socket)) == ("refused", "refused")
    other.close()
    cookie = next(f"{each['name']}={each['value']}" for each in window.context.cookies() if each["name"].startswith("specht-"))
    assert ask(address, Cookie=cookie)[0] == 200
    assert ask(address, Cookie=cookie, Origin="http://other.example")[0] == 403


def test_files_and_code_are_out_of_reach(window, address):
    cookie = next(f"{each['name']}={each['value']}" for each in window.context.cookies() if each["name"].startswith("specht-"))
    assert ask(address, path="/?file=/etc/passwd", Cookie=cookie)[0] in (403, 404)
    for path in ("/api/files/list_files", "/api/files/file_details", "/api/kernel/run", "/api/kernel/execute", "/api/kernel/read_code"):
        status, said = ask(address, "POST", path, Cookie=cookie, Content_Type="application/json", Marimo_Session_Id="s_1")
        assert status >= 400
        assert "import" not in said


def test_the_first_page_is_for_a_table_of_ones_own(window):
    wait_for_text(window, "nothing of it is kept on disk")
    window.wait_for_url("**/?page=data")
    text = "".join(f"{'good' if row % 3 else 'bad'} soup number {row},{row % 3}\n" for row in range(120))
    drop(window, "mine.csv", "text,stars\n" + text + "a line too many,1,2\n")
    wait_for_text(window, r"Now: about [0-9.]+\s% of held-out rows are right")
    window.get_by_role("button", name="Refine").wait_for()
    wait_for_text(window, r"mine\.csv · stars from text, 120 rows")
    wait_for_text(window, "specht forecast mine.csv --target stars --budget 10s")
    assert window.locator(".js-plotly-plot").count() == 3
    assert not window.get_by_text("3 fields, but the header has 2").is_visible()
    window.get_by_text("Rows of the file that were not as they should be").click()
    wait_for_text(window, "3 fields, but the header has 2")
    assert Path(save(window, "All of them (CSV)").path()).read_text(encoding="utf-8").startswith("line,kind,detail,kept")
    assert window.get_by_role("alert").count() == 0
    assert window.get_by_text("Traceback").count() == 0


def test_a_goal_is_told_of_and_settings_stay_open(window):
    window.get_by_text("More settings").click()
    goal = window.get_by_placeholder("accuracy=0.95")
    goal.fill("accuracy=0.9")
    goal.press("Enter")
    wait_for_text(window, r"The goal, accuracy 90\s%")
    assert goal.is_visible()
    goal.fill("")
    goal.press("Enter")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("empty.csv", "", "empty.csv is empty: give a file with at least one row."),
        ("book.xlsx", "PK", "book.xlsx ends in '.xlsx', which is none of .csv"),
        ("few.csv", "text,label\na b,1\nb a,0\n", "The table has 2 usable rows, and a forecast needs at least 64: add rows."),
    ],
)
def test_a_bad_file_gets_a_sentence(window, name, content, sentence):
    drop(window, name, content)
    window.get_by_role("alert").get_by_text(sentence).wait_for()
    assert window.get_by_text("Traceback").count() == 0
    assert window.locator(".js-plotly-plot").count() == 0


def test_a_visitor_without_a_file_has_a_sample(window, folder):
    window.get_by_text("a sample: 400 reviews").click()
    wait_for_text(window, r"reviews\.csv · stars from text, 400 rows")
    window.wait_for_url("**/?page=data&table=sample")
    wait_for_text(window, "Does order matter[?] Yes")
    assert list(folder.iterdir()) == []


def test_moving_a_slider_moves_the_curve_and_the_address(window):
    from playwright.sync_api import expect

    turn_to(window, "Learning curve")
    curve = window.locator(FIRST_CURVE).first
    before = curve.get_attribute("d")
    window.get_by_role("slider").first.press("ArrowLeft")  # a context of 12 positions instead of 16
    window.wait_for_url("**/?page=curve&length=12")
    wait_for_text(window, r"V=4 L=12 ")
    expect(curve).not_to_have_attribute("d", before, timeout=PATIENCE)


def test_exact_points_come_when_the_button_is_pressed(window):
    points = window.locator(".js-plotly-plot").first.locator(".scatterlayer .point")
    assert points.count() == 0
    window.get_by_role("button", name="Add exact GP points").click()
    wait_for_text(window, "Exact inference on 8 data sets is within")
    assert points.count() == 12  # test and train loss at six numbers of samples


def test_a_figure_is_saved_as_data_and_as_a_picture(window):
    data = save(window, "Data (CSV)")
    assert data.suggested_filename == "specht-learning-curve.csv"
    header, *rows = Path(data.path()).read_text(encoding="utf-8").splitlines()
    assert header == "series,x,y,z,x_error,y_error,text"
    assert any(row.startswith("test,8,") for row in rows)
    picture = save(window, "Picture (SVG)")
    assert picture.suggested_filename == "specht-learning-curve.svg"
    drawn = ElementTree.parse(picture.path()).getroot()
    assert drawn.attrib["width"] == "840"
    assert {"samples N", "test", "train"} <= {"".join(text.itertext()) for text in drawn.iter(f"{SVG}text")}
    assert sum("point" in path.attrib.get("class", "").split() for path in drawn.iter(f"{SVG}path")) == 12
    assert "rgb(255, 255, 255)" in next(drawn.iter(f"{SVG}rect")).attrib["style"]
    content = Path(save(window, "Picture (PNG)").path()).read_bytes()
    assert content.startswith(b"\x89PNG")
    assert int.from_bytes(content[16:20]) == 1680


def test_spectra_are_labelled_with_young_diagrams(window):
    turn_to(window, "Spectrum")
    wait_for_text(window, "The spectrum at L = 64")
    assert window.locator(".diagrams svg").count() == 2
    assert window.locator(".js-plotly-plot").first.locator("image").count() == 2
    wait_for_text(window, r"L\* = 64")
    window.wait_for_url("**/?page=spectrum")  # without what the other page had said
    drawn = ElementTree.parse(save(window, "Picture (SVG)").path()).getroot()
    assert sum(1 for _ in drawn.iter(f"{SVG}image")) == 2  # a picture has them, too


def test_profiles_say_which_level_dominates(window):
    turn_to(window, "Profile")
    wait_for_text(window, r"lies at level 3")
    window.wait_for_selector(".barlayer .point", state="attached")


def test_text_without_words_gets_a_sentence_and_text_a_score(window):
    turn_to(window, "Text")
    wait_for_text(window, "Nothing leaves this machine")
    window.get_by_role("button", name="Score").click()
    wait_for_text(window, "There is no text yet: paste one of some thousand words, or choose a corpus.")
    rng = random.Random(0)
    subjects = (["rain", "cloud", "wind", "sky"], ["loss", "kernel", "noise", "width"])
    text = "\n".join(" ".join(rng.choices(rng.choice(subjects), k=60)) for _ in range(60))
    window.get_by_role("textbox").fill(text)
    window.get_by_role("textbox").blur()
    window.get_by_role("button", name="Score").click()
    wait_for_text(window, r"% of the correlations|ignores? order")
    window.wait_for_selector(".js-plotly-plot .main-svg", state="attached")
    assert window.get_by_role("alert").count() == 0


@pytest.mark.parametrize(("width", "scheme"), [(WIDTHS["phone"], "dark"), (WIDTHS["desktop"], "light")], ids=["phone", "desktop"])
def test_every_page_fits_its_window(window, width, scheme):
    window.set_viewport_size({"width": width, "height": 1400})
    window.emulate_media(color_scheme=scheme)
    for name, title in TABS.items():
        turn_to(window, title)
        window.get_by_role("heading", name=TITLES[name], exact=True).or_(window.locator(".empty")).first.wait_for()
        assert window.evaluate(STICKING_OUT, width) == []
        for element in ("document.documentElement", "document.querySelector('#App')"):
            assert window.evaluate(f"{element}.scrollWidth") <= width
        assert window.evaluate(WITHOUT_BUTTONS) == 0
    assert (window.locator("body.dark").count() == 1) == (scheme == "dark")
    window.set_viewport_size({"width": WIDTHS["desktop"], "height": 1400})


def test_papers_begin_with_the_command_and_go_on_with_the_scorecard(window, folder):
    turn_to(window, "Papers")
    wait_for_text(window, "There is no scorecard yet")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        main(["reproduce", "infinity.q4", "--scale", "smoke", "--workers", "0", "--json"])
    window.goto(f"{home(window)}?page=papers&experiment=infinity.q4")  # a link restores what was seen
    window.wait_for_selector("table.scorecard", state="attached")
    assert window.locator("table.scorecard .id").all_text_contents() == ["infinity.q4-bound"]
    window.wait_for_selector(".js-plotly-plot .main-svg", state="attached")
    assert window.locator(".claim").count() == 1


def test_a_bad_link_is_answered_with_a_sentence_and_the_rest_of_it(window):
    window.goto(f"{home(window)}?page=curve&length=7&vocab=3")
    wait_for_text(window, "Unknown length '7' in the address. Choose from: 4, 6, 8, 12")
    wait_for_text(window, r"V=3 L=16 ")


@pytest.mark.slow
def test_an_answer_is_refined_and_stays_when_that_is_stopped(window):
    window.goto(f"{home(window)}?page=data&table=sample")
    refine, refined = window.get_by_role("button", name="Refine"), "Measured within 10 seconds of CPU time"
    wait_for_text(window, refined)
    refine.click()
    window.wait_for_selector("[role=status] progress[value]", state="attached")
    wait_for_text(window, "Does order matter[?] Yes")  # the first answer stays meanwhile
    window.get_by_role("button", name="Cancel").click()
    wait_for_text(window, refined)
    refine.click()
    wait_for_text(window, "Measured within 2 minutes of CPU time")
    wait_for_text(window, "What do the labels depend on[?]")


@pytest.mark.slow
def test_work_that_takes_long_shows_progress_and_can_be_cancelled(window):
    window.goto(f"{home(window)}?page=curve&length=4&vocab=2")
    window.get_by_role("button", name="Add trained networks").click()
    wait_for_text(window, "Training networks: this takes minutes.")
    window.wait_for_selector("[role=status] progress[value]", state="attached")
    window.locator(FIRST_CURVE).first.wait_for(state="attached")  # theory stays where it is
    window.get_by_role("button", name="Cancel").click()
    window.wait_for_selector("[role=status]", state="detached")
    window.locator(FIRST_CURVE).first.wait_for(state="attached")


def test_no_request_left_this_machine(window, requests):
    """Of all that the tests above had the window do; the page of another origin was never asked for outside the browser."""
    outside = {url for url in requests if not url.startswith((home(window), home(window).replace("http", "ws"), "data:", "blob:"))}
    assert outside <= {"http://other.example/"}
    assert len(requests) > 100
