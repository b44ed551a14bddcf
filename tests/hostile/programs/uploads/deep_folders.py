# hostile: family=upload verdict=archive_folders
"""A tar with folders in folders in folders."""

import io
import tarfile


def upload(outside):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo("f/" * 40 + "x.py")
        member.size = len(b"def solve(x, y):\n    pass\n")
        archive.addfile(member, io.BytesIO(b"def solve(x, y):\n    pass\n"))
    return {"work.tar": buffer.getvalue()}


def harm(folder, outside, error):
    return (folder / ("f/" * 40)).is_dir()
