"""A report in a real browser: it draws, it is quiet, it stays at home."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toy_paper
import toy_probe
import toy_select
import toy_threshold

from specht.commands.command import Command
from specht.commands.forecast import ForecastCommand, ForecastConfig
from specht.commands.predict import PredictCommand, PredictConfig
from specht.commands.probe import ProbeCommand, ProbeConfig
from specht.commands.profile import ProfileCommand, ProfileConfig
from specht.commands.select import SelectCommand
from specht.commands.spectrum import SpectrumCommand, SpectrumConfig
from specht.commands.symmetry import SymmetryCommand, SymmetryConfig
from specht.commands.task_flags import TargetFlags
from specht.commands.threshold import ThresholdCommand
from specht.lab.archive import Archive
from specht.lab.config import Config
from specht.lab.executors import this_process
from specht.lab.sweeps import sweep
from specht.papers import jobs_of, judge, paper_sections, select
from specht.report import Report, Step, Table, render
from specht.report.figures import eigenvalue_plot, gram_heatmap
from specht.report.scorecard import scorecard_page


def written(report: Report, folder: Path) -> Path:
    path = folder / "report.html"
    path.write_text(render(report), encoding="utf-8")
    return path


def report_on(command: Command, config: Config) -> Report:
    return command.report(config, command.compute(config, None))


@pytest.fixture(scope="module")
def report_file(tmp_path_factory) -> Path:
    gram = np.exp(-np.abs(np.subtract.outer(np.arange(30), np.arange(30))) / 5)
    report = Report(
        title="A title",
        subtitle="V=4 L=16 | pos=learned(1.0) | linear/sqrt | linear | last",
        question="What?",
        answer="This.",
        plots=[
            gram_heatmap(gram, title="Gram", caption="Pairs."),
            eigenvalue_plot({"k": np.linalg.eigvalsh(gram)}, title="Eigenvalues", caption="Largest first."),
        ],
        tables=[Table(header=["", "k"], rows=[["trace", "30"]])],
        method=[Step("A long formula stays inside the page:", ["K_{ab} = " + " + ".join(f"s_{i}" for i in range(60))])],
        reproduce="specht kernel",
        made_with={"seed": "0"},
    )
    return written(report, tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def spectrum_file(tmp_path_factory) -> Path:
    report = report_on(SpectrumCommand(), SpectrumConfig(lengths=(4, 8, 16)))
    return written(report, tmp_path_factory.mktemp("spectrum"))


@pytest.fixture(scope="module")
def predict_file(tmp_path_factory) -> Path:
    config = PredictConfig(
        n_train=(16, 64, 256), check=("gp",), datasets=3, check_n=64, target=TargetFlags(target="counts"), breaking=(0.0, 0.5)
    )
    return written(report_on(PredictCommand(), config), tmp_path_factory.mktemp("predict"))


@pytest.fixture(scope="module")
def profile_file(tmp_path_factory) -> Path:
    report = report_on(ProfileCommand(), ProfileConfig(target="and", length=12, samples=400))
    return written(report, tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="module")
def forecast_file(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("forecast")
    tokens = np.random.default_rng(0).integers(3, size=(200, 6))
    lines = [" ".join(map(str, row)) + f",{'yes' if row[0] == row[1] else 'no'}" for row in tokens]
    data = folder / "mine.csv"
    data.write_text("\n".join(["text,label", *lines, "broken row"]) + "\n", encoding="utf-8")
    config = ForecastConfig(data=data, target="label", learners=("bag", "positions"), budget="10s")
    return written(report_on(ForecastCommand(), config), folder)


@pytest.fixture(scope="module")
def symmetry_file(tmp_path_factory) -> Path:
    folder, rng = tmp_path_factory.mktemp("symmetry"), np.random.default_rng(0)
    coins = rng.random((400, 64)) < rng.choice([0.2, 0.8], size=(400, 1))  # each record throws a coin of its own
    waves = (np.arange(25600) // 4 + (rng.random(25600) < 0.1)) % 2
    files = {"coins.npy": coins.astype(np.int64), "waves.npy": waves, "noise.npy": rng.integers(2, size=25600)}
    for name, tokens in files.items():
        np.save(folder / name, tokens)
    config = SymmetryConfig(corpora=tuple(str(folder / name) for name in files), length=16, lengths=(8,))
    command = SymmetryCommand(folder=folder)
    report = Report(**vars(command.page(command.compute(config))), reproduce="specht symmetry", made_with={"seed": "0"})
    return written(report, folder)


@pytest.fixture(scope="module")
def threshold_file(tmp_path_factory) -> Path:
    page = ThresholdCommand().page(toy_threshold.tree_of(toy_threshold.BOTH))
    report = Report(**vars(page), reproduce="specht threshold and", made_with={"seed": "0"})
    return written(report, tmp_path_factory.mktemp("threshold"))


@pytest.fixture(scope="module")
def select_file(tmp_path_factory) -> Path:
    theory = {"codes": "stochastic", "steps": [0, 100, 2000], "loss": [0.83, 0.1, 0.01], "stderr": None}
    page = SelectCommand().page(toy_select.tree_of(optimiser="sgd", theory=theory))
    report = Report(**vars(page), reproduce="specht select", made_with={"seed": "0"})
    return written(report, tmp_path_factory.mktemp("select"))


@pytest.fixture(scope="module")
def probe_file(tmp_path_factory) -> Path:
    report = ProbeCommand().report(ProbeConfig(model="mine:my_model"), toy_probe.result_of(toy_probe.moments))
    return written(report, tmp_path_factory.mktemp("probe"))


@pytest.fixture(scope="module")
def scorecard_file(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("scorecard")
    archive, parts = Archive(folder), select(among=[toy_paper.paper()])
    jobs = [jobs_of(part, "quick") for part in parts]
    sweep([job for each in jobs for job in each], archive, this_process)
    judged = [judge(part, [each], archive, (), "quick") for part, each in zip(parts, jobs, strict=True)]
    path = folder / "report.html"
    made_with = {"seed": "0"}
    page = scorecard_page(paper_sections(judged), scale="quick", seeds="seed 0", reproduce="specht reproduce", made_with=made_with)
    path.write_text(page, encoding="utf-8")
    return path


@contextlib.contextmanager
def quiet_page(browser, path: Path, width: int, scheme: str) -> Iterator[Any]:
    """The report in a window: it must say nothing to the console, ask for nothing outside and be no wider than the window."""
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("#plot-1 .main-svg")
    yield page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert complaints == []
    # The empty icon is a data address; everything else would leave the file.
    assert [url for url in requests if not url.startswith("data:")] == [path.as_uri()]
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200], ids=["phone", "desktop"])
def test_report_draws_quietly_and_stays_at_home(browser, report_file, width, scheme):
    with quiet_page(browser, report_file, width, scheme) as page:
        assert page.locator(".plotly-graph-div").count() == 2
        assert page.locator("#plot-0 .heatmaplayer image").count() == 1
        assert page.locator("#plot-1 .scatterlayer .point").count() == 30
        ink = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--quiet').trim()")
        assert page.evaluate("document.querySelector('#plot-1').layout.font.color") == ink


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1200, "light")], ids=["phone", "desktop"])
def test_spectrum_report_draws_its_curves(browser, spectrum_file, width, scheme):
    with quiet_page(browser, spectrum_file, width, scheme) as page:
        for plot in ("#plot-0", "#plot-1"):
            assert page.locator(f"{plot} .scatterlayer .point").count() == 6  # two families at three lengths
            assert page.locator(f"{plot} .scatterlayer .js-line").count() == 4  # and their bounds
        assert page.locator("#plot-2 .legend .traces").count() == 2
        assert page.locator("table").count() == 2


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1200, "light")], ids=["phone", "desktop"])
def test_prediction_draws_theory_and_exact_inference(browser, predict_file, width, scheme):
    with quiet_page(browser, predict_file, width, scheme) as page:
        assert page.locator(".plotly-graph-div").count() == 6  # width 64 has one of its own
        assert page.locator("#plot-0 .scatterlayer .js-line").count() == 5  # width 64, three losses and the equivalent kernel
        assert page.locator("#plot-0 .scatterlayer .point").count() == 6  # three losses at two numbers of samples
        assert page.locator("#plot-0 .scatterlayer .errorbar").count() == 6
        assert page.locator("table").count() == 4


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1200, "dark")], ids=["phone", "desktop"])
def test_profile_report_draws_bars_and_curve(browser, profile_file, width, scheme):
    with quiet_page(browser, profile_file, width, scheme) as page:
        assert page.locator("#plot-0 .barlayer .point").count() == 7  # five levels, those above, and the constant part
        assert page.locator("#plot-0 .errorbar").count() == 6
        assert page.locator("#plot-1 .scatterlayer .js-line").count() == 1
        assert page.locator("#plot-1 .scatterlayer .point").count() == 6  # 0, four block sizes, 12
        assert page.locator("table").count() == 2


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1200, "light")], ids=["phone", "desktop"])
def test_forecast_report_draws_measured_points_and_bands(browser, forecast_file, width, scheme):
    with quiet_page(browser, forecast_file, width, scheme) as page:
        assert page.locator("#plot-0 .scatterlayer .point").count() >= 3  # the subsets that were measured
        assert page.locator("#plot-0 .scatterlayer .js-fill").count() >= 1  # the interval of the forecast
        assert page.locator("table").count() >= 3
        assert "line 202" not in page.locator("body").inner_text()  # faulty rows are folded
        page.locator("summary", has_text="Rows of the file").click()
        assert "line 202" in page.locator("body").inner_text()


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1200, "light")], ids=["phone", "desktop"])
def test_symmetry_report_draws_bars_lines_and_blocks(browser, symmetry_file, width, scheme):
    with quiet_page(browser, symmetry_file, width, scheme) as page:
        assert page.locator("#plot-0 .errorbar path").count() == 2
        assert page.locator("#plot-0 .scatterlayer text").text_content() == "undefined"  # noise has no score
        assert page.locator("#plot-1 .barlayer .trace").count() == 3  # order, distance, direction
        assert page.locator(".heatmaplayer image").count() == 2
        assert page.locator("table").count() == 8
        names = page.locator("#plot-0 .ytick text").all_text_contents()
        assert [name.strip() for name in names] == ["coins.npy", "waves.npy", "noise.npy"]


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1200, "light")], ids=["phone", "desktop"])
def test_threshold_report_draws_growth_and_trials(browser, threshold_file, width, scheme):
    with quiet_page(browser, threshold_file, width, scheme) as page:
        assert page.locator(".plotly-graph-div").count() == 3
        assert page.locator("#plot-0 .scatterlayer .point").count() == 8  # two learners at four lengths, one of them not reached
        assert page.locator("#plot-0 .scatterlayer .errorbar").count() == 7
        assert page.locator("#plot-0 .scatterlayer .js-line").count() == 4  # a logarithm and a power each
        assert page.locator("#plot-0 .xtick text").all_text_contents() == ["25", "50", "100", "200"]
        for plot, curves in (("#plot-1", 4), ("#plot-2", 3)):
            assert page.locator(f"{plot} .scatterlayer .point").count() == 8  # two numbers of samples at each length
            assert page.locator(f"{plot} .scatterlayer .js-line").count() == curves + 1  # and the share that is asked for
        assert page.locator("table").count() == 5


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1200, "light")], ids=["phone", "desktop"])
def test_selection_report_draws_losses_and_matrices(browser, select_file, width, scheme):
    with quiet_page(browser, select_file, width, scheme) as page:
        for plot in ("#plot-0", "#plot-1"):  # the loss and its inverse
            assert page.locator(f"{plot} .scatterlayer .point").count() == 4  # two kinds of codes after two numbers of steps
            assert page.locator(f"{plot} .scatterlayer .js-line").count() == 3  # and the exact dynamics
        assert page.locator("#plot-2 .scatterlayer .point").count() == 6  # two kinds of codes at three lengths
        assert page.locator("#plot-2 .xtick text").all_text_contents() == ["50", "75", "100"]
        assert page.locator(".heatmaplayer image").count() == 4  # two matrices, at the start and at the end
        assert page.locator("table").count() == 2


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1200, "light")], ids=["phone", "desktop"])
def test_probe_report_draws_positions_and_layers(browser, probe_file, width, scheme):
    with quiet_page(browser, probe_file, width, scheme) as page:
        assert page.locator(".heatmaplayer image").count() == 3  # embedding, sums and order
        assert page.locator("#plot-0 .heatmap-label").count() == 20  # of 25 positions, each reads its own and ignores the others
        assert page.locator("#plot-1 .legend .traces").count() == 3  # ignored, told apart, not told apart
        assert page.locator("#plot-3 .scatterlayer .point").count() == 3  # residuals
        assert page.locator("#plot-3 .scatterlayer .js-line").count() == 1  # and what would be rounding
        assert page.locator("#plot-4 .barlayer .point").count() >= 3
        assert page.locator("#plot-5 .scatterlayer .errorbar").count() == 3
        assert page.locator("table").count() == 2


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1200, "light")], ids=["phone", "desktop"])
def test_scorecard_shows_every_claim_and_figure(browser, scorecard_file, width, scheme):
    with quiet_page(browser, scorecard_file, width, scheme) as page:
        assert page.locator(".plotly-graph-div").count() == 4
        assert page.locator("table.scorecard tbody tr").count() == 4  # the paper and its three claims
        assert page.locator(".claim.holds").count() == 1
        assert page.locator(".claim.fails").count() == 1
        page.locator("a.id", has_text="toy.large").click()  # leads to the claim
        assert page.url.endswith("#toy.large")
