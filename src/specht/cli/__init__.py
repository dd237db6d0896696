"""Commands that have not moved to `specht.commands` yet."""

from specht.commands.app import COMMANDS, app, main

__all__ = ["COMMANDS", "app", "main"]
