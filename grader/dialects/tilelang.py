"""TileLang: `@tilelang.jit` or `tilelang.compile`, built by nvcc at the first call.

A kernel is launched with tensors. It needs nvcc in the sandbox (a CUDA toolkit below /usr) and a device.
"""

from grader.contract import Language
from grader.dialects.dialect import Dialect

DIALECT = Dialect(
    language=Language.TILELANG,
    name="TileLang",
    mark="tilelang",
    module="tilelang",
    package="tilelang",
    environment={"TILELANG_CACHE_DIR": "/tmp/tilelang", "TVM_CACHE_DIR": "/tmp/tvm"},  # noqa: S108 (inside)
)
