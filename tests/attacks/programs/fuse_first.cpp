// attack: family=fusion expect=no_gain,wrong_answer gain=time
// The first call of a round does the work of all others as well, which then return at once: most take no time.
#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    static Call known[4096];
    static int count = 0, at = 0;
    const Call call = call_of(tensors);
    if (call.count == 0)
        return 0;
    int place = 0;
    while (place < count && known[place].x != call.x)
        ++place;
    if (place == count && count < 4096) {
        known[count++] = call;
        compute(call);
        return 0;
    }
    if (place == 0)
        for (at = 0; at < count; ++at)
            compute(known[at]);
    return 0;
}
