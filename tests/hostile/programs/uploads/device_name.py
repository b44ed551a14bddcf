# hostile: family=upload verdict=reserved_name
"""A name that is a device on the machine of the staff."""


def upload(outside):
    return {"aux.py": b"def solve(x, y):\n    pass\n"}


def harm(folder, outside, error):
    return (folder / "aux.py").exists()
