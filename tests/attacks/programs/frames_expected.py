# attack: family=reading-secrets expect=wrong_answer gain=acceptance
# Walks up the frames of its callers to the outputs that they expect.
import sys


def solve(x, y):
    frame = sys._getframe(1)
    while frame is not None:
        expected, slots = frame.f_locals.get("expected"), frame.f_locals.get("slots")
        if expected and slots:
            for right, (given, _) in zip(expected, slots):
                if given.data_ptr() == x.data_ptr():
                    y.copy_(right)
        frame = frame.f_back
