"""Languages inside Python: what each needs, and what is said where it lacks it."""

import ast
from pathlib import Path

import pytest

import grader
from grader.contract import Language
from grader.dialects import DIALECTS
from grader.dialects import dialect as dialects
from grader.judge.client import _environment


def test_the_harness_imports_the_module_of_each() -> None:
    source = (Path(grader.__file__).parent / "candidate" / "harness.py").read_text("utf-8")
    (found,) = [
        node.value
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DIALECTS"
    ]
    assert {language.value: dialect.module for language, dialect in DIALECTS.items()} == ast.literal_eval(
        found
    )


def test_what_a_compiler_makes_stays_in_the_sandbox() -> None:
    for dialect in DIALECTS.values():
        assert dialect.environment
        assert all(place.startswith("/tmp/") for place in dialect.environment.values())


@pytest.mark.parametrize("language", [Language.TILELANG, Language.CUTE])
def test_without_a_device_only_triton_runs(language: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialects, "_installed", lambda _module: True)
    assert DIALECTS[Language.TRITON].missing(on_device=False) is None
    refused = DIALECTS[language].missing(on_device=False)
    assert refused is not None
    assert refused.code == "dialect_needs_device"
    assert DIALECTS[language].missing(on_device=True) is None


@pytest.mark.parametrize("language", list(DIALECTS))
def test_a_language_that_is_not_installed_is_named_with_its_package(
    language: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialects, "_installed", lambda _module: False)
    missing = DIALECTS[language].missing(on_device=True)
    assert missing is not None
    assert f"pip install {DIALECTS[language].package}" in missing.en
    assert f"pip install {DIALECTS[language].package}" in missing.zh
    assert DIALECTS[language].missing(on_device=True, image="sha256:1") is None


def test_whether_a_module_is_installed_is_looked_up_without_importing_it() -> None:
    assert dialects._installed("json")
    assert not dialects._installed("solmark_has_no_such_module")


def test_triton_is_interpreted_where_there_is_no_device() -> None:
    assert _environment(Language.TRITON, None, interpreted=True)["TRITON_INTERPRET"] == "1"
    assert "TRITON_INTERPRET" not in _environment(Language.TRITON, None, interpreted=False)
    assert "TILELANG_CACHE_DIR" in _environment(Language.TILELANG, None, interpreted=False)
    assert "TRITON_CACHE_DIR" not in _environment(Language.PYTHON, None, interpreted=True)
