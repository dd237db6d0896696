"""A unit of work that any process can do: the name of a function and its arguments, which decide the numbers and the name of the result."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
from typing import Any

import xarray


@dataclasses.dataclass(frozen=True)
class Job:
    """One call of a function that returns a dataset.

    >>> job = Job.of("specht.papers.example:measure", length=8, seed=0)
    >>> job.function, job.arguments["length"], len(job.digest)
    ('specht.papers.example:measure', 8, 16)
    """

    function: str
    """As `module:function`: every worker, on whatever machine, imports it by this name."""
    text: str
    """The arguments as JSON with sorted keys, so that equal jobs are equal objects with equal digests."""

    @classmethod
    def of(cls, function: str, **arguments: Any) -> Job:
        """The call of a function with arguments that JSON can hold."""
        return cls(function, json.dumps(arguments, sort_keys=True, separators=(",", ":"), allow_nan=False))

    @property
    def arguments(self) -> dict[str, Any]:
        """What the function is called with."""
        return json.loads(self.text)

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that name the result."""
        return hashlib.sha256(f"{self.function} {self.text}".encode()).hexdigest()[:16]

    def run(self) -> xarray.Dataset:
        """Call the function here and now."""
        module, name = self.function.split(":")
        return getattr(importlib.import_module(module), name)(**self.arguments)

    def __str__(self) -> str:
        values = ", ".join(f"{name}={value}" for name, value in self.arguments.items())
        return f"{self.function.rpartition('.')[2]}({values})"
