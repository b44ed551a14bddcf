"""Files by content: written whole, verified, safe names only."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from server.blobs import BlobStore, MissingBlobError


def test_a_content_is_kept_once_under_its_digest(tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "blobs")
    data = b"some content"
    digest = hashlib.sha256(data).hexdigest()
    assert not store.has(digest)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: store.put(data), range(16))) == {digest}
    assert store.read(digest) == data
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [digest]
    store.delete(digest)
    assert not store.has(digest)
    with pytest.raises(MissingBlobError):
        store.read(digest)


def test_damage_on_disk_is_noticed(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    digest = store.put(b"some content")
    store.path(digest).write_bytes(b"other content")
    with pytest.raises(MissingBlobError, match="damaged"):
        store.read(digest)


@pytest.mark.parametrize("left", [b"", b"other content"])
def test_what_is_stored_again_is_whole_again(tmp_path: Path, left: bytes) -> None:
    store = BlobStore(tmp_path)
    digest = store.put(b"some content")
    store.path(digest).write_bytes(left)
    assert store.put(b"some content") == digest
    assert store.read(digest) == b"some content"


@pytest.mark.parametrize("name", ["", "..", "../" * 20 + "etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_only_digests_are_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(MissingBlobError):
        BlobStore(tmp_path).read(name)
