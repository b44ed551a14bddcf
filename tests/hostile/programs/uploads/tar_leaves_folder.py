# hostile: family=upload verdict=bad_name
"""A tar whose member climbs out of the folder."""

import io
import tarfile


def upload(outside):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo("../escaped.py")
        member.size = len(b"def solve(x, y):\n    pass\n")
        archive.addfile(member, io.BytesIO(b"def solve(x, y):\n    pass\n"))
    return {"work.tar": buffer.getvalue()}


def harm(folder, outside, error):
    return (outside / "escaped.py").exists()
