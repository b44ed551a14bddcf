# hostile: family=upload verdict=bad_name
"""A name that reads backwards: what ends in .py looks like a text."""


def upload(outside):
    return {"solution\u202etxt.py": b"def solve(x, y):\n    pass\n"}


def harm(folder, outside, error):
    return any("\u202e" in path.name for path in folder.iterdir())
