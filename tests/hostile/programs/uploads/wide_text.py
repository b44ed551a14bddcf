# hostile: family=upload verdict=not_text
"""Source in UTF-16, which one program reads as text and another as bytes."""


def upload(outside):
    return {"solution.py": b"def solve(x, y):\n    pass\n".decode().encode("utf-16")}


def harm(folder, outside, error):
    return b"\0" in (folder / "solution.py").read_bytes()
