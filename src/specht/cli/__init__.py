"""Commands that have not moved to `specht.commands` yet, and the entry point of installations that are older than the move."""

from specht.commands.app import main as main
