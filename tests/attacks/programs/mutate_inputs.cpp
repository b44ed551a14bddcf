// attack: family=changing-the-question expect=wrong_answer gain=acceptance
// Sets its input to zero, for which zero is the right answer.
#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    const Call call = call_of(tensors);
    std::memset(const_cast<float *>(call.x), 0, 4 * call.count);
    std::memset(call.y, 0, 4 * call.count);
    return 0;
}
