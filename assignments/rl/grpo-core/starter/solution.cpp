// Fused log-probabilities in C++. Hand in with: solmark grade rl/grpo-core solution.cpp grpo.py
//
// tensors: h [T, d], w [V, d], both float32 here, labels [T] (int64), logp [T] (float32); all contiguous. Write logp,
// leave the others alone, return 0. solmark.h lies beside this file; the judge has its own.
#include <cstdint>

#include "solmark.h"

extern "C" int solve(const solmark_tensor *tensors, int n, const solmark_scalar *scalars, int m, void *stream) {
    const solmark_tensor &h = tensors[0];
    float *logp = static_cast<float *>(tensors[3].data);
    (void)n, (void)scalars, (void)m, (void)stream;
    for (int64_t token = 0; token < h.shape[0]; ++token)
        logp[token] = 1.0f; // Your work begins here.
    return 0;
}
