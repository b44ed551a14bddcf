# hostile: family=upload verdict=bad_name
"""A zip whose name ends for some readers where for others it goes on."""

import io
import zipfile


def upload(outside):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        member = zipfile.ZipInfo("solution.py")
        member.filename = "solution.py\0.txt"
        archive.writestr(member, b"def solve(x, y):\n    pass\n")
    return {"work.zip": buffer.getvalue()}


def harm(folder, outside, error):
    return (folder / "solution.py").exists()
