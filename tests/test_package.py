"""What is published: wheel and sdist are built, hold what they should, and run in empty environments with what they ask for alone."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import specht

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow  # installs a few hundred megabytes


def run(*words: object, folder: Path) -> str:
    done = subprocess.run([*map(str, words)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """Both files, built as a release builds them: the sdist from the repository, the wheel from the sdist."""
    folder = tmp_path_factory.mktemp("package")
    venv.create(folder / "builder", with_pip=True)
    python = folder / "builder" / "bin" / "python"
    run(python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "build", folder=folder)
    run(python, "-m", "build", "--outdir", folder / "dist", ROOT, folder=folder)
    return folder / "dist"


def test_files_hold_what_they_should(built):
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
    assert {"specht/papers/sparse_variables/claims.toml", "specht/report/templates/page.html.jinja", "specht/py.typed"} <= names
    assert not [name for name in names if name.startswith("tests")]
    with tarfile.open(sdist) as file:
        inside = {name.split("/", 1)[1] for name in file.getnames() if "/" in name}
    assert {
        "README.md",
        "LICENSE",
        "check",
        "zensical.toml",
        "docs/tutorial.md",
        "examples/how_much_data.py",
        "benchmarks/startup.py",
    } <= inside


@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_installs_clean_and_runs(built, tmp_path, kind):
    (package,) = built.glob(kind)
    venv.create(tmp_path / "empty", with_pip=True)
    programs = tmp_path / "empty" / "bin"
    run(programs / "python", "-m", "pip", "install", "-qq", "--disable-pip-version-check", package, folder=tmp_path)
    run(programs / "python", "-m", "pip", "check", folder=tmp_path)
    assert run(programs / "specht", "--version", folder=tmp_path).strip() == specht.__version__
    assert "An error of 10 %" in run(programs / "specht", "predict", "--length", "4", "--n-train", "8", "64", folder=tmp_path)
    (report,) = tmp_path.glob("specht-results/predict-*/report.html")
    assert report.stat().st_size > 10**6
    assert sys.prefix not in run(programs / "specht", "doctor", folder=tmp_path)
