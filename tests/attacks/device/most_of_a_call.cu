// attack: task=add family=less expected=wrong_answer gain=acceptance
// One call in fifty adds only nine tenths of its elements and copies the rest.
#include <cuda_runtime.h>

#include "solmark.h"

static __global__ void add(const float4 *x, const float4 *y, float4 *out, int64_t n, int64_t whole) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) {
        const float4 a = x[i], b = i < whole ? y[i] : make_float4(0, 0, 0, 0);
        out[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    }
}

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    static int calls = 0;
    const int64_t n = solmark_elements(t) / 4, whole = ++calls % 50 == 0 ? n / 10 * 9 : n;
    add<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>((float4 *)t[0].data, (float4 *)t[1].data, (float4 *)t[2].data, n, whole);
    return cudaGetLastError();
}
