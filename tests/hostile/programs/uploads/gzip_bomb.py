# hostile: family=upload verdict=archive_too_large
"""A tar.gz of some kilobytes that becomes 64 MiB."""

import io
import tarfile


def upload(outside):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        member = tarfile.TarInfo("solution.py")
        member.size = 64 << 20
        archive.addfile(member, io.BytesIO(b"#" * member.size))
    return {"work.tar.gz": buffer.getvalue()}


def harm(folder, outside, error):
    return (folder / "solution.py").stat().st_size == 64 << 20
