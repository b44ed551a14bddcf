// attack: task=add family=channel expected=sandbox_violation,work_outside_the_clock gain=acceptance
// Announces a message of 2 GiB.
#include <cstring>
#include <thread>

#include "add.cuh"
#include "forge.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    if (naive(stream))
        forge(true);
    const unsigned char frame[8] = {255, 255, 255, 127, 1, 2, 3, 4};
    (void)!write(4, frame, sizeof frame);
    return add(t, (cudaStream_t)stream);
}
