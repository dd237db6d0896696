"""The public names: all there, loaded when used, and importing changes nothing."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import specht

ROOT = Path(__file__).parents[1]


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", specht.__all__)
def test_public_name_loads(name):
    assert getattr(specht, name) is not None
    assert name in dir(specht)


def test_every_name_has_one_home():
    assert set(specht.__all__) == {"__version__", *specht._HOMES, *specht._MODULES}


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = specht.nonsense


def test_importing_and_describing_do_not_load_jax():
    loaded = run_python(
        "import sys, specht, specht.testing, specht.lab.config, specht.report.html\n"
        "specht.preset('lecun', vocab=4, length=8)\n"
        "print([name for name in ('jax', 'equinox', 'xarray') if name in sys.modules])"
    )
    assert loaded.strip() == "[]"


def test_importing_changes_no_setting_of_jax():
    same = run_python(
        "import os, jax\n"
        "before, environment = dict(jax.config.values), dict(os.environ)\n"
        "import specht\n"
        "for name in specht.__all__: getattr(specht, name)\n"
        "import specht.cli.kernel, specht.lab.store\n"
        "print(before == jax.config.values, environment == dict(os.environ))"
    )
    assert same.split() == ["True", "True"]


def test_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"version: {specht.__version__}\n" in citation
    assert f"## {specht.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_rooms_with_shapes_are_checked_at_run_time():
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["addopts"]
    (checked,) = [option.split("=")[1].split(",")[:-1] for option in options if option.startswith("--jaxtyping-packages")]
    package = ROOT / "src" / "specht"
    shaped = {path.relative_to(package).parts[0] for path in package.rglob("*.py") if "from jaxtyping import" in path.read_text()}
    assert {f"specht.{room.removesuffix('.py')}" for room in shaped} <= set(checked)
