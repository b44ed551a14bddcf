# hostile: family=upload verdict=archive_special
"""A zip with a link to a file of the host."""

import io
import zipfile


def upload(outside):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        member = zipfile.ZipInfo("solution.py")
        member.create_system = 3
        member.external_attr = 0o120777 << 16
        archive.writestr(member, "/etc/passwd")
    return {"work.zip": buffer.getvalue()}


def harm(folder, outside, error):
    return (folder / "solution.py").is_symlink()
