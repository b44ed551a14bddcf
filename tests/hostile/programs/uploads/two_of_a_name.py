# hostile: family=upload verdict=archive_repeats
"""A tar with two files of one name: who checks one and runs the other is lost."""

import io
import tarfile


def upload(outside):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo("solution.py")
        member.size = len(b"first")
        archive.addfile(member, io.BytesIO(b"first"))
        member = tarfile.TarInfo("solution.py")
        member.size = len(b"other")
        archive.addfile(member, io.BytesIO(b"other"))
    return {"work.tar": buffer.getvalue()}


def harm(folder, outside, error):
    return (folder / "solution.py").read_bytes() == b"other"
