# hostile: family=upload verdict=same_letters
"""Two files that are one where case is not told."""


def upload(outside):
    return {"solution.py": b"def solve(x, y):\n    pass\n", "Solution.py": b"def solve(x, y):\n    pass\n"}


def harm(folder, outside, error):
    return len({path.name.lower() for path in folder.iterdir()}) < len(list(folder.iterdir()))
