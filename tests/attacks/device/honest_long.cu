// attack: task=long family=honest expected=accepted
// The honest program of this task: what the others are measured against.
#include "busy.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *s, int m, void *stream) {
    return solmark_elements(t) ? busy(t, s, m, (cudaStream_t)stream) : 0;
}
