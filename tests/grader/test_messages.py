"""The catalogue of sentences: complete in both languages, nothing missing, nothing left over."""

import re
import string
from pathlib import Path

import pytest

from grader import messages

GRADER = Path(messages.__file__).parent
SOURCES = {path: path.read_text("utf-8") for path in GRADER.rglob("*.py") if path.name != "messages.py"}


def _fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


@pytest.mark.parametrize("code", sorted(messages.codes()))
def test_both_languages_fill_in_the_same_fields(code: str) -> None:
    en, zh = messages._TEMPLATES[code]
    assert {name.removesuffix("_zh") for name in _fields(zh)} == _fields(en)
    assert re.search("[\u4e00-\u9fff]", zh)
    assert not re.search("[\u4e00-\u9fff]", en)


@pytest.mark.parametrize("code", sorted(messages.codes()))
def test_every_code_is_used(code: str) -> None:
    assert any(f'"{code}"' in source for source in SOURCES.values())


def test_every_code_that_is_used_exists() -> None:
    used = {
        code
        for source in SOURCES.values()
        if "from grader.messages import" in source
        for code in re.findall(r'(?<![\w.])text\(\s*"([a-z_0-9]+)"', source)
    }
    assert used - messages.codes() == set()


def test_a_long_field_is_cut_to_what_a_report_takes() -> None:
    sentence = messages.text("exception", detail="{x}" * 10_000)
    assert len(sentence.en) == len(sentence.zh) == 8192
    assert "{x}" in sentence.en
