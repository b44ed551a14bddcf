"""A kernel in TileLang, compiled for Hopper by nvcc where no GPU is."""

import sys

import tilelang
from tilelang import language as tile
from tilelang.contrib import nvcc


@tile.prim_func
def double(x: tile.Tensor((1024,), "float32"), y: tile.Tensor((1024,), "float32")):
    with tile.Kernel(8, threads=128) as block:
        for i in tile.Parallel(128):
            y[block * 128 + i] = 2 * x[block * 128 + i]


with tilelang.tvm.target.Target({"kind": "cuda", "arch": "sm_90a"}) as target:
    source = tilelang.lower(
        double, target=target, enable_host_codegen=False, enable_device_compile=False
    ).kernel_source
headers = [f"-I{tilelang.env.TILELANG_TEMPLATE_PATH}", f"-I{tilelang.env.CUTLASS_INCLUDE_DIR}"]
built = nvcc.compile_cuda(source, target_format="cubin", arch="sm_90a", options=["-std=c++17", *headers])
sys.stdout.write(bytes(built[:20]).hex())
