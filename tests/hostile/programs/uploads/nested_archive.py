# hostile: family=upload verdict=wrong_suffix
"""An archive in an archive in an archive."""

import io
import zipfile


def upload(outside):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner.zip", b"PK")
    return {"work.zip": buffer.getvalue()}


def harm(folder, outside, error):
    return (folder / "inner.zip").exists()
