// attack: family=replay expect=wrong_answer gain=time
// Computes an output once: what lies in it then will do for later calls.
#include <set>

#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    static std::set<const float *> seen;
    const Call call = call_of(tensors);
    if (seen.insert(call.x).second)
        compute(call);
    return 0;
}
