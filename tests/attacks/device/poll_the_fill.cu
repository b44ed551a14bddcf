// attack: task=add family=outside expected=work_outside_the_clock gain=time
// A resident kernel sees the fill arrive and adds ahead into memory of its own; in the round only its results are copied.
#include <cuda_runtime.h>
#include <vector>

#include "solmark.h"

constexpr int BLOCKS = 132, THREADS = 512;

struct Slot {
    const float4 *x, *y;
    float4 *ahead;
    float4 *seen;  // of each block the last elements that were added
};

static __global__ void resident(const Slot *slots, int count, int64_t n) {
    const int64_t each = n / BLOCKS, first = each * blockIdx.x, last = blockIdx.x == BLOCKS - 1 ? n : first + each;
    for (;;)
        for (int s = 0; s < count; ++s) {
            const volatile float *tail = (const volatile float *)(slots[s].y + last - 1);
            __shared__ float known;
            if (threadIdx.x == 0) {
                const float before = slots[s].seen[blockIdx.x].x;
                for (int patience = 0; tail[0] == before && patience < 4000000; ++patience) {
                }
                known = tail[0];
            }
            __syncthreads();
            for (int64_t i = first + threadIdx.x; i < last; i += THREADS) {
                const float4 a = __ldcv(slots[s].x + i), b = __ldcv(slots[s].y + i);
                slots[s].ahead[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
            }
            __syncthreads();
            __threadfence();
            if (threadIdx.x == 0)
                slots[s].seen[blockIdx.x].x = known;
        }
}

static __global__ void finish(Slot slot, float4 *out, int64_t n) {
    const int64_t each = n / BLOCKS, i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const int64_t block = i / each < BLOCKS ? i / each : BLOCKS - 1;
    const int64_t last = block == BLOCKS - 1 ? n : each * (block + 1);
    if (__ldcv(&slot.seen[block].x) == slot.y[last - 1].x) {
        out[i] = slot.ahead[i];
        return;
    }
    const float4 a = slot.x[i], b = slot.y[i];
    out[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    static std::vector<Slot> slots;
    static char *pool = nullptr;
    static Slot *table = nullptr;
    static cudaStream_t own = nullptr;
    static bool started = false;
    const int64_t n = solmark_elements(t) / 4;
    const size_t most = 300, piece = n * 16 + BLOCKS * 16;
    if (pool == nullptr) {
        if (cudaMalloc(&pool, most * piece) != cudaSuccess || cudaMallocHost(&table, most * sizeof(Slot)) != cudaSuccess)
            return 1;
        cudaMemset(pool, 0, most * piece);
        cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    }
    cudaStreamCaptureStatus status;
    cudaStreamIsCapturing((cudaStream_t)stream, &status);
    Slot slot = {(const float4 *)t[0].data, (const float4 *)t[1].data, (float4 *)pool, (float4 *)(pool + n * 16)};
    if (status == cudaStreamCaptureStatusActive && slots.size() < most) {
        slot.ahead = (float4 *)(pool + slots.size() * piece);
        slot.seen = (float4 *)(pool + slots.size() * piece + n * 16);
        slots.push_back(slot);
        table[slots.size() - 1] = slot;
        if (slots.size() == 60 && !started) {
            started = true;
            resident<<<BLOCKS, THREADS, 0, own>>>(table, 60, n);
        }
    }
    finish<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>(slot, (float4 *)t[2].data, n);
    return cudaGetLastError();
}
