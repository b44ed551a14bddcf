# hostile: family=upload verdict=bad_name
"""A name that commands the terminal of who lists it."""


def upload(outside):
    return {"solution\x1b[2J\n.py": b"def solve(x, y):\n    pass\n"}


def harm(folder, outside, error):
    return any(not path.name.isprintable() for path in folder.iterdir())
