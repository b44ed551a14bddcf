# hostile: family=upload verdict=archive_special
"""A tar with a link to a folder, and a file behind the link."""

import io
import tarfile


def upload(outside):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo("up")
        member.type = tarfile.SYMTYPE
        member.linkname = ".."
        archive.addfile(member)
        member = tarfile.TarInfo("up/escaped.py")
        member.size = len(b"def solve(x, y):\n    pass\n")
        archive.addfile(member, io.BytesIO(b"def solve(x, y):\n    pass\n"))
    return {"work.tar": buffer.getvalue()}


def harm(folder, outside, error):
    return (outside / "escaped.py").exists()
