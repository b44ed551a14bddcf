// attack: task=add family=question expected=wrong_answer gain=acceptance
// Zeroes inputs and output: who asks the oracle about what lies there now finds it right.
#include "add.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    for (int k = 0; k < 3; ++k)
        cudaMemsetAsync(t[k].data, 0, 4 * solmark_elements(t), (cudaStream_t)stream);
    return cudaGetLastError();
}
