// attack: task=add family=question expected=wrong_answer gain=acceptance
// Makes the question fit the answer: the second input becomes zero, the first one is the output.
#include <cuda_runtime.h>

#include "solmark.h"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    const size_t size = solmark_elements(t) * 4;
    cudaMemsetAsync(t[1].data, 0, size, (cudaStream_t)stream);
    cudaMemcpyAsync(t[2].data, t[0].data, size, cudaMemcpyDeviceToDevice, (cudaStream_t)stream);
    return cudaGetLastError();
}
