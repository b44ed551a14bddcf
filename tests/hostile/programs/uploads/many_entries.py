# hostile: family=upload verdict=archive_entries
"""A zip with twenty thousand empty files."""

import io
import zipfile


def upload(outside):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(20_000):
            archive.writestr(f"{number}.h", b"")
    return {"work.zip": buffer.getvalue()}


def harm(folder, outside, error):
    return len(list(folder.iterdir())) == 20_000
