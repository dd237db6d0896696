"""`python -m specht` is the command `specht`."""

import sys

from specht.commands.app import main

if __name__ == "__main__":
    sys.exit(main())
