# hostile: family=upload verdict=not_text
"""Source behind a byte-order mark."""


def upload(outside):
    return {"solution.py": b"\xef\xbb\xbf" + b"def solve(x, y):\n    pass\n"}


def harm(folder, outside, error):
    return not (folder / "solution.py").read_bytes().decode().isprintable()
