// attack: family=changing-the-question expect=wrong_answer gain=time
// Gives every call the input of the first one, whose output it knows.
#include <vector>

#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    static std::vector<float> x, y;
    const Call call = call_of(tensors);
    if (x.empty()) {
        compute(call);
        x.assign(call.x, call.x + call.count);
        y.assign(call.y, call.y + call.count);
    }
    std::memcpy(const_cast<float *>(call.x), x.data(), 4 * call.count);
    std::memcpy(call.y, y.data(), 4 * call.count);
    return 0;
}
