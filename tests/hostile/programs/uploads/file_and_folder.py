# hostile: family=upload verdict=archive_folders
"""A zip in which a file's name is a folder's too."""

import io
import zipfile


def upload(outside):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"def solve(x, y):\n    pass\n")
        archive.writestr("a/solution.py", b"def solve(x, y):\n    pass\n")
    return {"work.zip": buffer.getvalue()}


def harm(folder, outside, error):
    return isinstance(error, OSError)
