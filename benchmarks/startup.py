"""How long it takes until something happens: `import specht` and `specht --help`, each in a process of its own.

    python benchmarks/startup.py            # twenty starts of each
    python benchmarks/startup.py --quick    # five

Prints one JSON object a line. Seconds are CPU seconds of the whole process, the least of all starts, and beyond those of a Python that only
starts; `loaded` are libraries that should not be there. `met` says which targets a line meets; the exit code is 1 when one is missed.
"""

from common import print_line, run  # isort: skip -- first, because it sets the number of threads

import json
import subprocess
import sys

HELP_SECONDS, IMPORT_SECONDS = 0.4, 0.2
HEAVY = ("jax", "equinox", "xarray", "scipy", "plotly", "matplotlib")
STARTS = {
    "nothing": "",
    "import specht": "import specht",
    "specht --help": "import contextlib, io\nfrom specht.commands.app import main\n"
    "with contextlib.redirect_stdout(io.StringIO()): main(['--help'])",
}
ENDING = f"""
import json, sys, time
print(json.dumps([time.process_time(), [name for name in {HEAVY} if name in sys.modules]]))"""


def report(quick: bool) -> None:
    starts = 5 if quick else 20
    # Taken in turns, so that a busy moment does not fall on one of them alone.
    taken = {name: [] for name in STARTS}
    loaded = {name: [] for name in STARTS}
    for _ in range(starts + 1):  # the first fills the caches of files
        for name, code in STARTS.items():
            printed = subprocess.run([sys.executable, "-c", code + ENDING], capture_output=True, text=True, check=True).stdout
            seconds, loaded[name] = json.loads(printed)
            taken[name].append(seconds)
    plain = min(taken["nothing"][1:])
    for name, most in (("import specht", IMPORT_SECONDS), ("specht --help", HELP_SECONDS)):
        seconds = min(taken[name][1:])
        met = {f"below {most} s": seconds < most, "without JAX": "jax" not in loaded[name]}
        print_line(name, seconds=seconds, beyond_python=seconds - plain, python=plain, starts=starts, loaded=loaded[name], met=met)


if __name__ == "__main__":
    raise SystemExit(run(report, __doc__))
