// attack: task=add family=replay expected=wrong_answer,accepted gain=time
// Adds only if one of 64 sampled elements of the inputs differs from what it was at this address.
#include <map>

#include "add.cuh"

static __global__ void look(const float *x, const float *y, int64_t n, float *known, int *differs) {
    const int64_t at = threadIdx.x * (n / 64);
    const bool changed = known[threadIdx.x] != x[at] || known[64 + threadIdx.x] != y[at];
    known[threadIdx.x] = x[at];
    known[64 + threadIdx.x] = y[at];
    const int any = __syncthreads_or(changed);
    if (threadIdx.x == 0)
        *differs = any;
}

static __global__ void add_if(const float4 *x, const float4 *y, float4 *out, int64_t n, const int *differs) {
    if (*differs == 0)
        return;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        const float4 a = __ldcs(x + i), b = __ldcs(y + i);
        __stcs(out + i, make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w));
    }
}

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    static float *known = nullptr;
    static std::map<void *, int> places;
    if (known == nullptr)
        cudaMalloc(&known, 1024 * 130 * sizeof(float));
    if (pieces(t) == 0)
        return 0;
    const int place = places.emplace(t[2].data, (int)places.size() % 1024).first->second;
    float *mine = known + 130 * place;
    const cudaStream_t on = (cudaStream_t)stream;
    look<<<1, 64, 0, on>>>((const float *)t[0].data, (const float *)t[1].data, solmark_elements(t), mine, (int *)(mine + 128));
    add_if<<<132 * 8, 256, 0, on>>>((const float4 *)t[0].data, (const float4 *)t[1].data, (float4 *)t[2].data, pieces(t),
                                    (const int *)(mine + 128));
    return cudaGetLastError();
}
