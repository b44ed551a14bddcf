"""The errors of the domain as a set."""

import re

from server.errors import DomainError


def test_every_error_speaks_both_languages_and_has_a_code_of_its_own() -> None:
    kinds = DomainError.__subclasses__()
    codes = [kind.code for kind in kinds]
    assert len(set(codes)) == len(codes) > 20
    for kind in kinds:
        assert 400 <= kind.status < 600
        assert set(re.findall(r"\{(\w+)", kind.en)) >= set(re.findall(r"\{(\w+)", kind.zh)) - {"why_zh"}
