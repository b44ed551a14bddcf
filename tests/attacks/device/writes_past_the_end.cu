// attack: task=add family=question expected=wrong_answer gain=acceptance
// Right, and eight bytes more behind the output.
#include <cuda_runtime.h>

#include "solmark.h"

static __global__ void add(const float *x, const float *y, float *out, int64_t n) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = x[i] + y[i];
    else if (i < n + 2)
        out[i] = 0;
}

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    const int64_t n = solmark_elements(t);
    add<<<n / 256 + 1, 256, 0, (cudaStream_t)stream>>>((float *)t[0].data, (float *)t[1].data, (float *)t[2].data, n);
    return cudaGetLastError();
}
