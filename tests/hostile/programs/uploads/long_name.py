# hostile: family=upload verdict=bad_name
"""A name longer than a file system takes."""

import io
import zipfile


def upload(outside):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x" * 300 + ".py", b"def solve(x, y):\n    pass\n")
    return {"work.zip": buffer.getvalue()}


def harm(folder, outside, error):
    return isinstance(error, OSError)
