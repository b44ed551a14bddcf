"""Triton: `@triton.jit` functions, compiled at their first launch; without a device they are interpreted."""

from grader.contract import Language
from grader.dialects.dialect import Dialect

DIALECT = Dialect(
    language=Language.TRITON,
    name="Triton",
    mark="triton",
    module="triton",
    package="triton",
    environment={"TRITON_CACHE_DIR": "/tmp/triton"},  # noqa: S108 (inside)
    interpreted={"TRITON_INTERPRET": "1"},
)
