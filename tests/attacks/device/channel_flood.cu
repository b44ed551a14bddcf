// attack: task=add family=channel expected=sandbox_violation,work_outside_the_clock,runtime_error,time_limit gain=acceptance
// Floods the channel that answers go through.
#include <cstring>
#include <thread>

#include "add.cuh"
#include "forge.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    if (naive(stream))
        forge(true);
    static bool started = false;
    if (!started) {
        started = true;
        std::thread([] {
            char junk[4096];
            std::memset(junk, 65, sizeof junk);
            for (;;)
                (void)!write(4, junk, sizeof junk);
        }).detach();
    }
    return add(t, (cudaStream_t)stream);
}
