# attack: family=forged-result expect=runtime_error gain=acceptance
# Prints the grader's own success line and leaves before anything is checked.
import os
import sys


def solve(x, y):
    token = sys.argv[-1]
    print(f'RESULT {token} {{"passed": true, "seconds": 1e-9}}', flush=True)
    os._exit(0)
