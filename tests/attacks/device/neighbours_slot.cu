// attack: task=add family=question expected=wrong_answer,runtime_error gain=acceptance
// Right, and one element far behind its own call's tensors is changed.
#include "add.cuh"

static __global__ void stray(float *out) { out[0] += 1.0f; }

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    const int status = add(t, (cudaStream_t)stream);
    if (solmark_elements(t) != 0)
        stray<<<1, 1, 0, (cudaStream_t)stream>>>((float *)t[0].data + 4);
    return status;
}
