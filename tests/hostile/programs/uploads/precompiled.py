# hostile: family=upload verdict=wrong_suffix
"""A program that was built elsewhere, beside an honest source."""


def upload(outside):
    return {"solution.cpp": b"int x;", "solution.so": b"\x7fELF"}


def harm(folder, outside, error):
    return (folder / "solution.so").read_bytes() == b"\x7fELF"
