"""CuTe DSL (CUTLASS in Python): `@cute.jit` and `@cute.kernel`, compiled at the first call.

The compiler comes with its wheels; `cute.compile` calls it too. It needs a device; tensors cross by DLPack.
"""

from grader.contract import Language
from grader.dialects.dialect import Dialect

DIALECT = Dialect(
    language=Language.CUTE,
    name="CuTe DSL",
    mark="cutlass",
    module="cutlass.cute",
    package="nvidia-cutlass-dsl",
    environment={"CUTE_DSL_CACHE_DIR": "/tmp/cute"},  # noqa: S108 (inside)
)
