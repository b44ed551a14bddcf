"""Finding the last-level cache, and pushing data out of it."""

from pathlib import Path

import pytest

from grader.judge.cache import DEFAULT_BYTES, LARGEST_BYTES, Evictor, last_level_bytes


def sysfs(root: Path, *caches: tuple[str, str, str]) -> Path:
    for index, (level, kind, size) in enumerate(caches):
        folder = root / "cpu0" / "cache" / f"index{index}"
        folder.mkdir(parents=True)
        (folder / "level").write_text(level + "\n")
        (folder / "type").write_text(kind + "\n")
        (folder / "size").write_text(size + "\n")
    return root


@pytest.mark.parametrize(
    ("caches", "size"),
    [
        ([("1", "Data", "32K"), ("1", "Instruction", "64K"), ("2", "Unified", "1024K")], 1 << 20),
        ([("3", "Unified", "32768K"), ("1", "Data", "48K")], 32 << 20),
        ([("3", "Unified", "1G")], LARGEST_BYTES),
        ([("3", "Unified", "16M"), ("4", "Unified", "nonsense")], 16 << 20),
        ([], DEFAULT_BYTES),
    ],
)
def test_size_of_the_last_level(tmp_path: Path, caches: list[tuple[str, str, str]], size: int) -> None:
    assert last_level_bytes(topology=sysfs(tmp_path, *caches)) == size


def test_the_evictor_reads_memory_of_its_own() -> None:
    evictor = Evictor(1 << 20)
    evictor.stream()
    data = evictor._data
    assert data.numel() * data.element_size() == 2 << 20
    data[1, 5, 7] = 7
    with pytest.raises(RuntimeError, match="changed"):
        evictor.stream()


def test_this_machine_has_a_cache() -> None:
    assert 1 << 18 <= last_level_bytes() <= LARGEST_BYTES
