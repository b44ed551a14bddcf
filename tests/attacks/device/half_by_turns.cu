// attack: task=add family=less expected=wrong_answer gain=time
// Every call does one half of the rows, by turns; the other half still stands from before.
#include "add.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    static int calls = 0;
    const int64_t n = pieces(t), half = n / 2;
    const int turn = ++calls;
    if (turn <= 8)
        return add(t, (cudaStream_t)stream);
    return turn / 6 % 2 ? add(t, (cudaStream_t)stream, 0, half) : add(t, (cudaStream_t)stream, half, n);
}
