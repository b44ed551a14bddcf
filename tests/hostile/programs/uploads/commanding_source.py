# hostile: family=upload verdict=control_character
"""Source that clears the terminal of who prints it, and shows another one."""


def upload(outside):
    return {"solution.py": b"import os  # \x1b[2K\x1b[1Gdef solve(x, y):\ndef solve(x, y):\n    pass\n"}


def harm(folder, outside, error):
    return b"\x1b" in (folder / "solution.py").read_bytes()
