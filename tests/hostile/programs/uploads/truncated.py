# hostile: family=upload verdict=archive_damaged
"""An archive whose second half is missing: the file in it is half, and looks whole."""

import io
import tarfile


def upload(outside):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo("solution.py")
        member.size = len(b"x = 1\n" * 500)
        archive.addfile(member, io.BytesIO(b"x = 1\n" * 500))
    return {"work.tar": buffer.getvalue()[:2048]}


def harm(folder, outside, error):
    return len((folder / "solution.py").read_bytes()) < 3000 or error is not None
