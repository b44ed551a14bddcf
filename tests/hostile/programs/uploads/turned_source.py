# hostile: family=upload verdict=control_character
"""Source in which what a person reads is not what runs: its order is turned inside a comment."""

SOURCE = "def solve(x, y):\n    pass  # \u202e )x * 2(_ypoc.y \u2066\n"


def upload(outside):
    return {"solution.py": SOURCE.encode()}


def harm(folder, outside, error):
    return "\u202e" in (folder / "solution.py").read_text()
