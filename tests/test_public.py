"""The public names: all there, loaded when used, and importing changes nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import specht

ROOT = Path(__file__).parents[1]


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", ["Architectur", "lerning_curve", "source"])
def test_unknown_names_are_answered_with_the_nearest(name):
    near = {"Architectur": "Architecture", "lerning_curve": "learning_curve", "source": "sources"}[name]
    with pytest.raises(AttributeError, match=f"^module 'specht' has no attribute '{name}': did you mean '{near}'"):
        getattr(specht, name)


def test_names_that_are_like_no_other_are_not_guessed():
    with pytest.raises(AttributeError, match=r"^module 'specht' has no attribute 'nonsense'$"):
        _ = specht.nonsense
    with pytest.raises(AttributeError, match=r"^module 'specht.nn' has no attribute '__wrapped__'$"):
        _ = specht.nn.__wrapped__


@pytest.mark.parametrize("name", ["Network", "train", "Checkpoint"])
def test_names_of_networks_are_said_to_be_in_their_room(name):
    with pytest.raises(AttributeError, match=f"no attribute '{name}': it is in specht.nn, so write specht.nn.{name}$"):
        getattr(specht, name)


def test_importing_and_describing_do_not_load_jax():
    loaded = run_python(
        "import sys, specht, specht.testing, specht.lab.config, specht.report.html, specht.learning, specht.groups, specht.sequences\n"
        "specht.preset('lecun', vocab=4, length=8)\n"
        "specht.sequences.check_batch(specht.Architecture(vocab=2, length=1), {'input_ids': [[0, 1]]})\n"
        "print([name for name in ('jax', 'equinox', 'xarray', 'pandas', 'torch') if name in sys.modules])"
    )
    assert loaded.strip() == "[]"


def test_rooms_that_describe_have_no_module_that_needs_jax():
    loaded = run_python(
        "import importlib, pkgutil, sys\n"
        "sys.modules.update(dict.fromkeys(('jax', 'equinox', 'jaxtyping')))  # importing them fails\n"
        "for room in ('architecture', 'presets', 'groups', 'sequences', 'corpus', 'testing', 'report'):\n"
        "    module = importlib.import_module(f'specht.{room}')\n"
        "    for inner in pkgutil.walk_packages(getattr(module, '__path__', []), f'specht.{room}.'):\n"
        "        importlib.import_module(inner.name)\n"
        "print(sum(name.startswith('specht.') for name in sys.modules))"
    )
    assert int(loaded) > 50


def test_rooms_show_their_names_without_loading_anything():
    loaded = run_python(
        "import sys, specht, specht.nn, specht.corpus, specht.groups, specht.sequences, specht.learning, specht.studies.sparse.bounds\n"
        "dir(specht), dir(specht.nn), dir(specht.learning)\n"
        "print([name for name in ('jax', 'equinox', 'xarray', 'pandas', 'plotly', 'numpy') if name in sys.modules])"
    )
    assert loaded.strip() == "[]"


def test_importing_changes_no_setting_of_jax():
    same = run_python(
        "import os, jax\n"
        "before, environment = dict(jax.config.values), dict(os.environ)\n"
        "import specht\n"
        "for name in specht.__all__: getattr(specht, name)\n"
        "import specht.commands.kernel, specht.lab.store\n"
        "print(before == jax.config.values, environment == dict(os.environ))"
    )
    assert same.split() == ["True", "True"]


def test_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"version: {specht.__version__}\n" in citation
    assert f"## {specht.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_rooms_with_shapes_are_checked_at_run_time():
    checked = re.findall(r"--jaxtyping-packages=(\S+),beartype", (ROOT / "check").read_text())[0].split(",")
    package = ROOT / "src" / "specht"
    shaped = {path.relative_to(package.parent) for path in package.rglob("*.py") if "from jaxtyping import" in path.read_text()}
    modules = {".".join(path.with_suffix("").parts) for path in shaped}
    assert len(modules) > 20
    assert {name for name in modules if not any(f"{name}.".startswith(f"{prefix}.") for prefix in checked)} == set()
