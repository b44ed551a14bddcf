# hostile: family=upload verdict=archive_special
"""A tar with a second name for a file of the host."""

import io
import tarfile


def upload(outside):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo("solution.py")
        member.type = tarfile.LNKTYPE
        member.linkname = "../secret"
        archive.addfile(member)
    return {"work.tar": buffer.getvalue()}


def harm(folder, outside, error):
    return "secret" in (folder / "solution.py").read_text()
