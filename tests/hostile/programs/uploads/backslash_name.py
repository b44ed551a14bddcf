# hostile: family=upload verdict=bad_name
"""A zip that climbs with the separator of another system."""

import io
import zipfile


def upload(outside):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("..\\escaped.py", b"def solve(x, y):\n    pass\n")
    return {"work.zip": buffer.getvalue()}


def harm(folder, outside, error):
    return any("\\" in path.name for path in folder.iterdir())
