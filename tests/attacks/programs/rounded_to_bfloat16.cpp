// attack: family=doing-less expect=wrong_answer gain=acceptance
// Right, and then rounded to bfloat16, as a store of half the bytes would leave it.
#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    const Call call = call_of(tensors);
    compute(call);
    for (int64_t i = 0; i < call.count; ++i) {
        uint32_t bits;
        std::memcpy(&bits, call.y + i, 4);
        bits &= 0xffff0000u;
        std::memcpy(call.y + i, &bits, 4);
    }
    return 0;
}
