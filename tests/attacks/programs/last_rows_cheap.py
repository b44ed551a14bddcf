# attack: family=doing-less expect=wrong_answer gain=acceptance
# The last quarter of the rows gets three terms of eight.
from shared import work


def solve(x, y):
    cut = x.shape[0] * 3 // 4
    work(x[:cut], y[:cut])
    work(x[cut:], y[cut:], 4)
