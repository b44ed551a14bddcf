// attack: task=add family=channel expected=sandbox_violation,work_outside_the_clock gain=acceptance
// Reports a failure of its own that looks like one of the harness.
#include <cstring>
#include <thread>

#include "add.cuh"
#include "forge.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    if (naive(stream))
        forge(true);
    const char body[] = "{\"type\": \"called\", \"id\": \"0\", \"remark\": \"\"}";
    char frame[256];
    const unsigned length = sizeof body - 1;
    std::memcpy(frame, &length, 4);
    std::memcpy(frame + 4, body, length);
    (void)!write(4, frame, length + 4);
    return add(t, (cudaStream_t)stream);
}
