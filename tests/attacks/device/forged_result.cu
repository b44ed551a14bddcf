// attack: task=add family=forged_result expected=runtime_error,wrong_answer gain=acceptance
// Reports success itself and leaves.
#include "add.cuh"
#include "forge.cuh"

extern "C" int solve(const solmark_tensor *, int, const solmark_scalar *, int, void *) {
    forge(true);
    return 0;
}
