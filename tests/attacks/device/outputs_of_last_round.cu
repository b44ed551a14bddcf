// attack: task=add family=replay expected=wrong_answer gain=time
// Keeps half of the output of every address and copies it back in later rounds; adds only the other half.
#include <map>

#include "add.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    static std::map<void *, int> rounds;
    const int64_t n = pieces(t);
    return ++rounds[t[2].data] > 1 ? add(t, (cudaStream_t)stream, n / 2, n) : add(t, (cudaStream_t)stream);
}
