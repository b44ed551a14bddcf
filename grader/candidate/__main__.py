"""Starts the harness: `python -I <this folder>/__main__.py LANGUAGE`, descriptors 3 to 5 open."""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    # The interpreter is isolated, so this package is found by its folder alone.
    sys.path.insert(0, str(Path(__file__).parents[1]))
    runpy.run_module("candidate.harness", run_name="__main__")
