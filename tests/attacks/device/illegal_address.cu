// attack: task=add family=hostile expected=runtime_error
// Writes to an address that is nobody's.
#include <cuda_runtime.h>

#include "solmark.h"

static __global__ void stray(float *out) { out[1ll << 45] = 1.0f; }

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    stray<<<1, 1, 0, (cudaStream_t)stream>>>((float *)t[2].data);
    return cudaGetLastError();
}
