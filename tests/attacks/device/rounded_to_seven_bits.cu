// attack: task=add family=less expected=wrong_answer gain=acceptance
// Sums on a grid of 127 steps.
#include <cuda_bf16.h>

#include "add.cuh"

static __device__ float less(float v) { return rintf(v * 63.0f) / 63.0f; }

static __global__ void add_less(const float *x, const float *y, float *out, int64_t n) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = less(x[i] + y[i]);
}

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    const int64_t n = solmark_elements(t);
    if (n != 0)
        add_less<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>((const float *)t[0].data, (const float *)t[1].data,
                                                                    (float *)t[2].data, n);
    return cudaGetLastError();
}
