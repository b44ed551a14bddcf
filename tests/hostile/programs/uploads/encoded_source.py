# hostile: family=upload verdict=declared_encoding
"""Source that hides a statement in a comment, for who does not read it in the encoding that it declares."""

SOURCE = b"# coding: utf-7\n# an honest comment +AAo-hidden = True\ndef solve(x, y):\n    pass\n"


def upload(outside):
    return {"solution.py": SOURCE}


def harm(folder, outside, error):
    found = {}
    exec(compile((folder / "solution.py").read_bytes(), "solution.py", "exec"), found)
    return found.get("hidden", False)
