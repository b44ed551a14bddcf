// attack: task=add family=hostile expected=time_limit
// A kernel that never ends.
#include <cuda_runtime.h>

#include "solmark.h"

static __global__ void forever(volatile float *out) {
    while (out[0] != 12345.0f) {
    }
}

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    forever<<<264, 1024, 0, (cudaStream_t)stream>>>((float *)t[2].data);
    return cudaGetLastError();
}
