"""Lets the law tests import their table of architectures."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
