# hostile: family=upload verdict=archive_special
"""A tar with a disk."""

import io
import tarfile


def upload(outside):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo("solution.py")
        member.type = tarfile.BLKTYPE
        member.devmajor = 8
        archive.addfile(member)
    return {"work.tar": buffer.getvalue()}


def harm(folder, outside, error):
    return (folder / "solution.py").is_block_device()
