"""The errors of the domain as a set."""

import re
from pathlib import Path

import server
from server.errors import Conflict, DomainError, NotFound, WrongState


def test_every_error_speaks_both_languages_and_has_a_code_of_its_own() -> None:
    kinds = DomainError.__subclasses__()
    codes = [kind.code for kind in kinds]
    assert len(set(codes)) == len(codes) > 20
    for kind in kinds:
        assert 400 <= kind.status < 600
        assert set(re.findall(r"\{(\w+)", kind.en)) >= set(re.findall(r"\{(\w+)", kind.zh)) - {
            "why_zh",
            "needs_zh",
        }


def test_what_an_error_names_is_translated_too() -> None:
    assert "提交" in NotFound(what="submission").message_zh
    assert Conflict(what="login ann").message_zh.endswith("登录名 ann。")
    assert (
        WrongState(action="rerun", state="running").message_zh == "状态为 评测中 的提交不能执行：重新评测。"
    )
    words = {
        match
        for path in Path(server.__file__).parent.rglob("*.py")
        for match in re.findall(r'\b(?:what|action)=f?"([^"{]+)', path.read_text("utf-8"))
    }
    assert len(words) > 15
    for word in words:
        what = f"{word}x" if word.endswith(" ") else word
        assert NotFound(what=what).message_zh != NotFound.zh.format(what=what), word
