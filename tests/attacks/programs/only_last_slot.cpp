// attack: family=fusion expect=wrong_answer gain=time
// Computes only what lies last in memory: a grader looks at what the last call left.
#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    static const float *last = nullptr;
    const Call call = call_of(tensors);
    if (call.count && call.x >= last) {
        last = call.x;
        compute(call);
    }
    return 0;
}
