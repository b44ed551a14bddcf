// attack: task=add family=forged_time expected=build_error gain=time
// Defines the harness's functions itself.
#include "add.cuh"

extern "C" int solmark_runner_round(int, int, void *, const void *, int, const void *, int, long, void *, int *) { return 0; }

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    return add(t, naive(stream) ? aside() : (cudaStream_t)stream);
}
