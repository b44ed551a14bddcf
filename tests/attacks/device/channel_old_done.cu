// attack: task=add family=channel expected=sandbox_violation,work_outside_the_clock gain=acceptance
// Answers done with a nonce of zeros before anybody has asked.
#include <cstring>
#include <thread>

#include "add.cuh"
#include "forge.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    if (naive(stream))
        forge(true);
    unsigned char frame[24] = {20, 0, 0, 0, 100, 111, 110, 101};
    (void)!write(4, frame, sizeof frame);
    return add(t, (cudaStream_t)stream);
}
