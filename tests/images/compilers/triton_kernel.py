"""A kernel in Triton, compiled for Hopper where no GPU is."""

import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def double(x, y, n, width: tl.constexpr):
    i = tl.program_id(0) * width + tl.arange(0, width)
    tl.store(y + i, 2 * tl.load(x + i, i < n), i < n)


signature = {"x": "*fp32", "y": "*fp32", "n": "i32", "width": "constexpr"}
built = triton.compile(ASTSource(double, signature, {"width": 128}), target=GPUTarget("cuda", 90, 32))
sys.stdout.write(built.asm["cubin"][:20].hex())
