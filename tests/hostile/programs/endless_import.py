# hostile: family=time verdict=time_limit build=time_limit lift=wall shows=alive
"""Never finishes loading: there is a `solve`, but nobody gets to it."""


def attack():
    while True:
        pass


attack()


def solve(x, y):
    y.copy_(2 * x)
