// attack: task=add family=channel expected=runtime_error,sandbox_violation gain=acceptance
// Closes the channel.
#include <cstring>
#include <thread>

#include "add.cuh"
#include "forge.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    if (naive(stream))
        forge(true);
    close(4);
    return add(t, (cudaStream_t)stream);
}
