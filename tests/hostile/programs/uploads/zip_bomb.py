# hostile: family=upload verdict=archive_too_large
"""A zip of some kilobytes that becomes 64 MiB."""

import io
import zipfile


def upload(outside):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("solution.py", b"#" * (64 << 20))
    return {"work.zip": buffer.getvalue()}


def harm(folder, outside, error):
    return (folder / "solution.py").stat().st_size == 64 << 20
