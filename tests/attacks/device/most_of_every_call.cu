// attack: task=add family=less expected=wrong_answer gain=acceptance
// Every call leaves its last 3 % as they are, after honest first ones.
#include "add.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    static int calls = 0;
    const int64_t n = pieces(t);
    return add(t, (cudaStream_t)stream, 0, ++calls > 16 ? n / 100 * 97 : n);
}
