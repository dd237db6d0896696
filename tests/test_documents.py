"""What the documents say can be done: Python runs as it stands and prints what stands below it, commands run, links lead somewhere.

Every command is parsed in the ordinary run, which finds a flag that is not there any more. Some are run there; `-m slow` runs them all,
page by page in one folder, as a reader would.
"""

from __future__ import annotations

import dataclasses
import gzip
import importlib
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from specht.commands.app import app, main
from specht.papers import expected_outcomes, papers
from specht.report.markdown import anchor

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
"""Every page."""
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NOT_RUN = re.compile(r"<!-- not run(?: \((?P<words>[^)]*)\))?: (?P<reason>[^>]+?) -->\s*\Z")


@dataclasses.dataclass(frozen=True)
class Snippet:
    """A block of Python, and the block of text right behind it, which is what it prints."""

    page: Path
    number: int
    code: str
    printed: str | None

    def __str__(self) -> str:
        return f"{name(self.page)}-{self.number}"


@dataclasses.dataclass(frozen=True)
class Command:
    """A line that starts with `specht`, perhaps behind settings of the environment."""

    page: Path
    line: str
    reason: str
    """Why no test runs it, if none does: from `<!-- not run: reason -->` in front of its block, or from
    `<!-- not run (--flag word, --other): reason -->`, which speaks of the lines that hold one of these."""

    @property
    def words(self) -> list[str]:
        """Arguments of `specht`."""
        words = shlex.split(self.line, comments=True)
        return words[words.index("specht") + 1 :]

    @property
    def settings(self) -> dict[str, str]:
        words = shlex.split(self.line, comments=True)
        return dict(word.split("=", 1) for word in words[: words.index("specht")])

    def __str__(self) -> str:
        return f"{name(self.page)}: {shlex.join(['specht', *self.words])}"


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def snippets() -> list[Snippet]:
    found = []
    for page in PAGES:
        fences = list(_FENCE.finditer(page.read_text(encoding="utf-8")))
        blocks = [fence for fence in fences if fence[1] == "python"]
        for number, block in enumerate(blocks):
            behind = next((fence for fence in fences if fence.start() > block.end()), None)
            follows = behind is not None and behind[1] == "text" and not behind.string[block.end() : behind.start()].strip()
            found.append(Snippet(page, number, block[2], behind[2] if behind is not None and follows else None))
    return found


def commands() -> list[Command]:
    """Of all pages but those of the scorecard, which a command has written and which name it."""
    return [command for page in PAGES if ROOT / "docs" / "scorecard" not in page.parents for command in _commands(page)]


def _commands(page: Path) -> Iterator[Command]:
    text = _FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), page.read_text(encoding="utf-8"))
    for block in re.finditer(r"(?:^|\n)\n((?: {4}.*\n|\n(?= {4}))+)", text):
        marker = _NOT_RUN.search(text[: block.start(1)])
        for line in block[1].splitlines():
            line = line.strip()
            if not re.match(r"(?:[A-Z_]+=\S+ )*specht (?!COMMAND)", line) or re.match(r"specht\S* .* \.\.\.", line):
                continue
            marked = marker is not None and (marker["words"] is None or any(words in line for words in marker["words"].split(", ")))
            yield Command(page, line, marker["reason"] if marker is not None and marked else "")


def links(page: Path) -> list[str]:
    """Links and pictures of a page that stay in the repository."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    text = re.sub(r"`[^`\n]*`", "", text)
    found = re.findall(r"(?<!\\)\]\(([^)\s]+)\)", text)
    return [link for link in found if not re.match(r"[a-z]+:", link)]


COMMANDS = commands()
QUICK = (
    "specht doctor",
    "specht kernel --list-presets",
    "specht predict --list-tasks",
    "specht reproduce --list",
    "specht runs",
)
"""Commands that the ordinary run runs."""


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """A folder with the files that pages speak of."""
    monkeypatch.chdir(tmp_path)
    for module in ("mytask", "mine"):  # those of another page
        monkeypatch.delitem(sys.modules, module, raising=False)
    importlib.invalidate_caches()
    rng = np.random.default_rng(0)
    text = " ".join(rng.choice(["whale", "sea", "the", "a", "ship", "white"], size=6000))
    for path in ("novel.txt", "corpus/one.txt", "texts/one.txt"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "two.txt.gz").write_bytes(gzip.compress(text.encode()))
    np.save(tmp_path / "tokens.npy", rng.integers(20, size=5000))
    np.save(tmp_path / "mine.npy", rng.integers(50, size=(40, 32)))
    (tmp_path / "genome.fna").write_text(">one\n" + "".join(rng.choice(list("ACGT"), size=6000)) + "\n")
    (tmp_path / "mytask.py").write_text("def function(tokens):\n    return tokens[:, 0] == 1\n")
    (tmp_path / "mine.py").write_text(
        "def score(tokens):\n    return tokens.sum(axis=1)\n\n\ndef model(tokens):\n    return tokens.cumsum(axis=1)[:, :, None] / 7.0\n"
    )
    rows = "\n".join(f"{' '.join(rng.choice(['good', 'bad', 'slow'], size=6))},{stars}" for stars in rng.integers(1, 6, size=120))
    (tmp_path / "reviews.csv").write_text(f"text,stars\n{rows}\n")
    return tmp_path


def marks(snippet: Snippet) -> list:
    """Snippets on networks run long. The longest compares networks of two widths with their limit, as tests/laws does."""
    return [pytest.mark.runs_long] * ("networks=" in snippet.code) + [pytest.mark.whole] * (str(snippet) == "docs/new_architecture.md-0")


@pytest.mark.parametrize("snippet", [pytest.param(snippet, marks=marks(snippet)) for snippet in snippets()], ids=str)
def test_snippet_runs_and_prints_what_stands_below_it(snippet, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(compile(snippet.code, str(snippet), "exec", dont_inherit=True), names)  # without what this file imports from the future
    assert "specht" in snippet.code
    assert len(names) > 1  # beside the builtins
    if snippet.printed is not None:
        assert capsys.readouterr().out == snippet.printed


@pytest.mark.parametrize("command", dict.fromkeys(map(str, COMMANDS)))
def test_command_has_flags_that_there_are(command, reader, capsys):
    words = next(each.words for each in COMMANDS if str(each) == command)
    app.parse_args(words, exit_on_error=False, print_error=False)


@pytest.mark.parametrize("line", QUICK)
def test_quick_command_runs(line, reader, capsys):
    assert any(str(command).endswith(f": {line}") for command in COMMANDS)
    assert main(line.split()[1:]) == 0
    assert capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if any(command.page == page for command in COMMANDS)], ids=name)
def test_every_command_of_a_page_runs(page, reader, monkeypatch, capsys):
    for snippet in snippets():
        if snippet.page == page:
            exec(compile(snippet.code, str(snippet), "exec", dont_inherit=True), {})
            if snippet.code.startswith("# mytask.py"):
                (reader / "mytask.py").write_text(snippet.code)
    for command in COMMANDS:
        if command.page == page and not command.reason:
            for variable, value in command.settings.items():
                monkeypatch.setenv(variable, value)
            assert main(command.words) == 0, str(command)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    for link in links(page):
        path, _, heading = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.exists(), link
        if heading:
            text = target.read_text(encoding="utf-8")
            headings = {re.sub(r"[^\w\- ]", "", line.lower()).strip().replace(" ", "-") for line in re.findall(r"^#+ (.*)$", text, re.M)}
            assert heading in headings | set(re.findall(r'<a id="([^"]+)">', text)), link


def test_pages_of_the_site_stay_among_themselves():
    for page in PAGES:
        if ROOT / "docs" in page.parents:
            assert all((page.parent / link.split("#")[0]).resolve().is_relative_to(ROOT / "docs") for link in links(page)), page


def test_every_page_is_in_the_navigation():
    nav = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]

    def pages(entries):
        for entry in entries:
            for value in entry.values():
                yield from [value] if isinstance(value, str) else pages(value)

    listed = set(pages(nav))
    there = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert listed <= there
    assert {page for page in there - listed if not page.startswith("scorecard/")} == set()


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.id)
def test_the_published_scorecard_has_every_claim_with_the_verdict_on_record(paper):
    """Pages of an earlier rule say so in the index, and show what that rule said: no verdict of theirs is compared with one of today's."""
    index, page = ((ROOT / "docs" / "scorecard" / name).read_text(encoding="utf-8") for name in ("index.md", f"{paper.id}.md"))
    verdicts = re.findall(r"\*\*(holds|fails|undecided|not tested)\*\*.* · `([\w.-]+)`<br>$", page, re.M)
    published = {claim: verdict for verdict, claim in verdicts}
    assert len(published) > 20
    if "## Before several seeds" not in index:
        assert published == {claim.id: expected_outcomes("quick")[claim.id] for claim in paper.claims}


def test_what_is_not_run_says_why():
    assert all(len(command.reason) > 5 for command in COMMANDS if command.reason)
    assert sum(not command.reason for command in COMMANDS) > 20


def test_errors_lead_to_pages_that_there_are(reader, capsys):
    assert main(["kernel", "--positions", "rotary"]) == 2
    assert main(["forecast", "nowhere.csv", "--target", "y"]) == 2
    for line, page in zip(capsys.readouterr().err.splitlines(), ("docs/limits.md", "docs/howto/own_data.md"), strict=True):
        assert page in line
        assert (ROOT / page).exists()


def test_reference_names_every_public_object():
    import specht

    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    hidden = {"InputError", "PRESETS"}  # in a sentence, and by `preset`
    types = {"Draw", "Optimiser", "RateSchedule", "Schedule"}
    for_other_rooms = types | {"ChainState", "Keeper", "begin", "diagnosed", "run", "square_of_mean"}
    values = [getattr(room, name) for room in (specht, specht.nn) for name in dir(room) if name not in hidden | for_other_rooms]
    named = [f"::: {value.__module__}.{value.__name__}\n" for value in values if hasattr(value, "__module__")]  # modules have none
    assert len(named) > 20
    assert [line for line in named if line not in text] == []
    assert anchor("a.b") == "a-b"


@pytest.mark.slow
@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_example_runs(example, tmp_path):
    """As ./check runs them, and on its own."""
    subprocess.run([sys.executable, str(example)], cwd=tmp_path, check=True, capture_output=True, timeout=600)
