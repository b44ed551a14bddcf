// attack: task=add family=question expected=wrong_answer gain=acceptance
// Copies the first input out and zeroes the second.
#include "add.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    const size_t size = 4 * solmark_elements(t);
    cudaMemcpyAsync(t[2].data, t[0].data, size, cudaMemcpyDeviceToDevice, (cudaStream_t)stream);
    cudaMemsetAsync(t[1].data, 0, size, (cudaStream_t)stream);
    return cudaGetLastError();
}
