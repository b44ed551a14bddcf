// attack: family=replay expect=wrong_answer gain=time
// Remembers each output by the address of its input.
#include <map>
#include <vector>

#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    static std::map<const float *, std::vector<float>> memory;
    const Call call = call_of(tensors);
    std::vector<float> &kept = memory[call.x];
    if (kept.empty() && call.count) {
        compute(call);
        kept.assign(call.y, call.y + call.count);
    } else {
        std::memcpy(call.y, kept.data(), 4 * call.count);
    }
    return 0;
}
