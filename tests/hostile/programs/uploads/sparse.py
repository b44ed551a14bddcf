# hostile: family=upload verdict=archive_special
"""A tar of a kilobyte with a file of a terabyte."""

import tarfile


def upload(outside):
    header = bytearray(tarfile.TarInfo("solution.py").tobuf(tarfile.GNU_FORMAT))
    header[156:157] = tarfile.GNUTYPE_SPARSE
    header[483:495] = b"%011o\0" % (1 << 32)
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return {"work.tar": bytes(header) + bytes(1024)}


def harm(folder, outside, error):
    return (folder / "solution.py").stat().st_size == 1 << 32
