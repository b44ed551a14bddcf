"""Starts the harness: `python -I <this folder>/__main__.py LANGUAGE`, descriptors 3 to 5 open.

`rank` in place of a language starts one rank alone, `ranks LANGUAGE N` several that run together.
"""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    # The interpreter is isolated, so this package is found by its folder alone.
    sys.path.insert(0, str(Path(__file__).parents[1]))
    module = sys.argv[1] if sys.argv[1] in ("rank", "ranks") else "harness"
    runpy.run_module(f"candidate.{module}", run_name="__main__")
