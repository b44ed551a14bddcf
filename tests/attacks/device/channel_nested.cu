// attack: task=add family=channel expected=sandbox_violation,work_outside_the_clock gain=acceptance
// Sends a deeply nested answer.
#include <cstring>
#include <thread>

#include "add.cuh"
#include "forge.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    if (naive(stream))
        forge(true);
    char frame[4100];
    const unsigned length = 4096;
    std::memcpy(frame, &length, 4);
    std::memset(frame + 4, 91, 4096);
    (void)!write(4, frame, 4100);
    return add(t, (cudaStream_t)stream);
}
