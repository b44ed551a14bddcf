# hostile: family=upload verdict=bad_name
"""Two files that are one where accents are composed."""

import unicodedata


def upload(outside):
    return {"caf\u00e9.py": b"def solve(x, y):\n    pass\n", "cafe\u0301.py": b"def solve(x, y):\n    pass\n"}


def harm(folder, outside, error):
    names = [path.name for path in folder.iterdir()]
    return len({unicodedata.normalize("NFC", name) for name in names}) < len(names)
