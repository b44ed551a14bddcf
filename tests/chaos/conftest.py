"""The modules of this folder import one another by their full names, as `python -m tests.chaos` does."""

import sys
from pathlib import Path

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)
