# hostile: family=upload verdict=archive_special
"""A tar with a link to a file of the host."""

import io
import tarfile


def upload(outside):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo("solution.py")
        member.type = tarfile.SYMTYPE
        member.linkname = "/etc/passwd"
        archive.addfile(member)
    return {"work.tar": buffer.getvalue()}


def harm(folder, outside, error):
    return "root:" in (folder / "solution.py").read_text()
