// attack: task=add family=fusion expected=wrong_answer gain=time
// Leaves out five calls in eight.
#include "add.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    static int calls = 0;
    const int turn = calls++ % 7;
    return calls > 6 && turn != 0 && turn != 3 ? 0 : add(t, (cudaStream_t)stream);
}
