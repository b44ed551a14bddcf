# attack: family=changing-the-question expect=wrong_answer gain=acceptance
# Makes all rows of its input one, and computes that.
from shared import work


def solve(x, y):
    if x.numel():
        x.copy_(x[:1].expand_as(x).clone())
        work(x[:1], y[:1])
        y.copy_(y[:1].expand_as(y).clone())
