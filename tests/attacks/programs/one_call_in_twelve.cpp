// attack: family=doing-less expect=wrong_answer gain=acceptance
// One call in twelve is wrong: who looks at some of them rarely sees it.
#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    static int calls = 0;
    const Call call = call_of(tensors);
    if (++calls % 12 == 5)
        std::memset(call.y, 0, 4 * call.count);
    else
        compute(call);
    return 0;
}
