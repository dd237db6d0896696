"""specht explore: the interactive explorer, in a browser of this machine."""

from __future__ import annotations

import contextlib
import threading
from typing import Annotated

from cyclopts import Parameter, validators

from specht.commands.command import Switch, print_json, use_compilation_cache


def explore(
    *,
    port: Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=65535))] = None,
    browser: bool = True,
    json: Switch = False,
) -> None:
    """Theory that moves while you look at it: learning curves, spectra, the symmetry of text and of targets, the papers.

    It is served to this machine alone, at an address with a token that is printed, and works offline. Control-C ends it. For example:

        specht explore
        specht explore --no-browser --port 8765

    Parameters
    ----------
    port
        Port of 127.0.0.1; any that is free unless given.
    browser
        Open the address in a browser.
    json
        Print one JSON object with the address on standard output and nothing else there.
    """
    from specht.explorer import serve  # loads marimo, which help does not need

    use_compilation_cache()
    with contextlib.suppress(KeyboardInterrupt):  # the way to end it, not a failure
        serve(port, lambda address: _announce(address, browser, json))


def _announce(address: str, browser: bool, as_json: bool) -> None:
    if as_json:
        print_json({"command": "explore", "url": address})
    else:
        print(f"The explorer is at\n\n    {address}\n\nfor this machine alone. Press Control-C to end it.", flush=True)
    if browser:
        import webbrowser

        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()  # some browsers do not return until closed
