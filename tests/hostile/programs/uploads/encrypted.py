# hostile: family=upload verdict=archive_encrypted
"""A zip that only its author can read."""

import io
import zipfile


def upload(outside):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("solution.py", b"def solve(x, y):\n    pass\n")
    data = bytearray(buffer.getvalue())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return {"work.zip": bytes(data)}


def harm(folder, outside, error):
    return isinstance(error, RuntimeError)
