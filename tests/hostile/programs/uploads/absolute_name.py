# hostile: family=upload verdict=bad_name
"""A tar whose member names its place from the root."""

import io
import tarfile


def upload(outside):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo(f"{outside}/escaped.py")
        member.size = len(b"def solve(x, y):\n    pass\n")
        archive.addfile(member, io.BytesIO(b"def solve(x, y):\n    pass\n"))
    return {"work.tar": buffer.getvalue()}


def harm(folder, outside, error):
    return (outside / "escaped.py").exists()
