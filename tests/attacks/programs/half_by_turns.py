# attack: family=fusion expect=wrong_answer gain=time
# Every second call is left out; a median over calls does not see what the others take.
from shared import work

calls = [0]


def solve(x, y):
    if not x.numel():
        return
    calls[0] += 1
    if calls[0] % 2:
        work(x, y)
