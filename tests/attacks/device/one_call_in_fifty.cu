// attack: task=add family=less expected=wrong_answer gain=acceptance
// Two calls in a hundred are copies of the first input.
#include "add.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    static int calls = 0;
    if (++calls % 50 != 7)
        return add(t, (cudaStream_t)stream);
    cudaMemcpyAsync(t[2].data, t[0].data, 4 * solmark_elements(t), cudaMemcpyDeviceToDevice, (cudaStream_t)stream);
    return cudaGetLastError();
}
