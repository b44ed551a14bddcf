// attack: task=add family=forged_time expected=accepted gain=time
// Slow when there is nothing to do: whoever subtracts an empty call subtracts too much.
#include "add.cuh"

static __global__ void spin(long long cycles) {
    const long long end = clock64() + cycles;
    while (clock64() < end) {
    }
}

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    if (solmark_elements(t) == 0)
        spin<<<1, 1, 0, (cudaStream_t)stream>>>(120000);
    return add(t, (cudaStream_t)stream);
}
