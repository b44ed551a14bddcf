// attack: task=add family=forged_time expected=accepted,unstable_timing,overlap gain=time
// Slow in the first call after a pause, which a short round or a probe consists of: to shrink a difference.
#include "add.cuh"

static __global__ void spin(long long cycles) {
    const long long end = clock64() + cycles;
    while (clock64() < end) {
    }
}

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    static bool was_capturing = false;
    const bool now = capturing(stream);
    if ((now && !was_capturing) || solmark_elements(t) == 0)
        spin<<<1, 1, 0, (cudaStream_t)stream>>>(150000);
    was_capturing = now;
    return add(t, (cudaStream_t)stream);
}
