// attack: family=changing-the-question expect=wrong_answer gain=acceptance
// Handles no remainder: one whole vector is written behind the end of each output, into what lies beside it.
#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    const Call call = call_of(tensors);
    compute(call);
    if (call.count)
        for (int64_t i = call.count; i < call.count + 16; ++i)
            call.y[i] = 0;
    return 0;
}
