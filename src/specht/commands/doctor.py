"""specht doctor: what this installation can do, and where it keeps things."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
from pathlib import Path
from typing import Any

import specht
from specht.commands.command import CACHE_VARIABLE, JsonSwitch, print_json, print_table, use_compilation_cache
from specht.commands.workers import STORE

LIBRARIES = (
    "jax",
    "jaxlib",
    "equinox",
    "optax",
    "jaxtyping",
    "numpy",
    "scipy",
    "xarray",
    "h5netcdf",
    "h5py",
    "pydantic",
    "cyclopts",
    "plotly",
)
EXTRAS = {
    "corpora": ("tokenizers", "pooch"),
    "cluster": ("distributed", "submitit"),
    "explorer": ("marimo",),
    "hmm": ("dynamax",),
    "figures": ("matplotlib",),
    "learners": ("sklearn",),
}
"""What `pip install 'specht[NAME]'` adds, by the name that is imported."""
INSTALLED_AS = {"sklearn": "scikit-learn"}
"""Libraries that are installed by another name than they are imported by."""


def doctor(*, json: JsonSwitch = False) -> None:
    """Versions, devices, precision, caches and results: what to send along with a question."""
    use_compilation_cache()
    facts = _facts()
    if json:
        return print_json({"command": "doctor"} | facts)
    print_table([[name, value if isinstance(value, str) else ", ".join(map(str, value))] for name, value in facts.items()])


def _facts() -> dict[str, Any]:
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(True):
        double = jnp.finfo(jnp.ones(1, dtype=jnp.float64).dtype)
    outside = jnp.ones(1).dtype  # what users get when they set nothing
    cache = os.environ.get(CACHE_VARIABLE)
    return {
        "version": specht.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": [f"{name} {_version(name)}" for name in LIBRARIES],
        "extras": [f"{name} {'yes' if all(map(_is_there, added)) else 'no'}" for name, added in EXTRAS.items()],
        "optional": [f"{name} {_version(name)}" for added in EXTRAS.values() for name in added],
        "devices": [f"{device.platform}:{device.id} {device.device_kind}" for device in jax.devices()],
        "cores": str(os.cpu_count()),
        "precision": f"kernels in {double.dtype} (eps {double.eps:.1e}), JAX outside in {outside}",
        "cache": "none" if cache is None else _folder(Path(cache)),
        "store": _folder(STORE.parent.resolve()),
    }


def _version(library: str) -> str:
    try:
        return importlib.metadata.version(INSTALLED_AS.get(library, library))
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version" if _is_there(library) else "missing"  # a folder on the path has no version


def _is_there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _folder(path: Path) -> str:
    files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else []
    return f"{path} ({len(files)} files, {sum(file.stat().st_size for file in files) / 2**20:.1f} MiB)"
