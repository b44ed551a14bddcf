// attack: family=replay expect=no_gain gain=time
// Remembers each output by a few elements of its input.
#include <map>
#include <vector>

#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    static std::map<uint64_t, std::vector<float>> memory;
    const Call call = call_of(tensors);
    uint64_t key = 14695981039346656037u;
    for (int64_t i = 0; i < call.count; i += 1021) {
        uint32_t bits;
        std::memcpy(&bits, call.x + i, 4);
        key = (key ^ bits) * 1099511628211u;
    }
    const auto found = memory.find(key);
    if (found != memory.end()) {
        std::memcpy(call.y, found->second.data(), 4 * call.count);
        return 0;
    }
    compute(call);
    if (memory.size() < 1000)
        memory[key].assign(call.y, call.y + call.count);
    return 0;
}
