"""`python -m tests.chaos --submissions 200 --seed 1`: fails if anything is lost, double or stuck."""

import sys

from tests.chaos.command import main

if __name__ == "__main__":
    sys.exit(main())
