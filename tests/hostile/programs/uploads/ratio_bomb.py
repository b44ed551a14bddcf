# hostile: family=upload verdict=archive_ratio
"""A zip of a kilobyte that becomes just under a megabyte, as often as somebody sends it."""

import io
import zipfile


def upload(outside):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("solution.py", b"#" * 1_000_000)
    return {"work.zip": buffer.getvalue()}


def harm(folder, outside, error):
    return (folder / "solution.py").stat().st_size == 1_000_000
