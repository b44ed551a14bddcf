// What the programs share that do arithmetic on 16 blocks.
#pragma once
#include <cuda_runtime.h>

#include "solmark.h"

static __global__ void busy_some(const float *x, float *out, int64_t steps) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];
    for (int64_t s = 0; s < steps; ++s)
        v = v * 0.99999f + 0.00001f;
    out[i] = v;
}

struct Many {
    const float *x[64];
    float *out[64];
};

// Several calls at once: a row of blocks each.
static __global__ void busy_many(Many many, int64_t steps) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = many.x[blockIdx.y][i];
    for (int64_t s = 0; s < steps; ++s)
        v = v * 0.99999f + 0.00001f;
    many.out[blockIdx.y][i] = v;
}

static inline int busy(const solmark_tensor *t, const solmark_scalar *s, int m, cudaStream_t stream) {
    busy_some<<<16, 1024, 0, stream>>>((const float *)t[0].data, (float *)t[1].data, solmark_integer(s, m, "steps"));
    return cudaGetLastError();
}

static inline cudaStream_t aside() {
    static cudaStream_t stream = nullptr;
    if (stream == nullptr)
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    return stream;
}

static inline bool capturing(void *stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (stream != nullptr)
        cudaStreamIsCapturing((cudaStream_t)stream, &status);
    return status == cudaStreamCaptureStatusActive;
}

static inline bool naive(void *stream) { return stream == nullptr; }
