# hostile: family=upload verdict=bad_name
"""A zip whose member climbs out of the folder."""

import io
import zipfile


def upload(outside):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../escaped.py", b"def solve(x, y):\n    pass\n")
    return {"work.zip": buffer.getvalue()}


def harm(folder, outside, error):
    return (outside / "escaped.py").exists()
