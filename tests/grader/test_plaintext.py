"""Text that others wrote is harmless once it is cleaned, whatever it held."""

import unicodedata

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.plaintext import clean, line, shorten

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""The machine may be busy."""


@PATIENT
@given(st.text(st.characters(), max_size=200), st.integers(0, 300))
def test_cleaned_text_is_harmless(text: str, limit: int) -> None:
    cleaned = clean(text, limit)
    assert len(cleaned) <= limit
    cleaned.encode("utf-8")  # no lone surrogates
    assert not [
        character
        for character in cleaned
        if character not in "\t\n" and unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
    ]
    assert clean(cleaned, limit) == cleaned


def test_terminal_and_direction_controls_go() -> None:
    assert clean("a\x1b]0;title\x07b\x1b[2Jc\u202ed\r\ne") == "abc\ufffdd\ne"


def test_every_character_that_turns_the_reading_direction_goes() -> None:
    marks = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    assert clean(marks) == "\ufffd" * len(marks)


def test_a_long_text_keeps_both_ends() -> None:
    short = shorten("begin" + "x" * 10_000 + "end", 200)
    assert len(short) <= 200
    assert short.startswith("begin")
    assert short.endswith("end")
    assert "left out" in short


def test_a_line_has_no_second_one() -> None:
    assert line("a\nb\tc\x00") == "a\ufffdb c\ufffd"
