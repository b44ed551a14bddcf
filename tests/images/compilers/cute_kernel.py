"""A kernel in CuTe DSL, compiled for Hopper where no GPU is."""

import sys

import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def double(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    y[i] = 2 * x[i]


@cute.jit
def launch(x: cute.Tensor, y: cute.Tensor):
    double(x, y).launch(grid=(1, 1, 1), block=(128, 1, 1))


vectors = [make_fake_tensor(cutlass.Float32, (128,), stride=(1,), assumed_align=16) for _ in range(2)]
built = cute.compile(launch, *vectors, options="--keep-cubin --gpu-arch=sm_90a")
sys.stdout.write(built.__cubin__[:20].hex())
