// attack: family=fusion expect=wrong_answer gain=time
// One call of five does its work, the last of six among them.
#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    static int calls = 0;
    const Call call = call_of(tensors);
    if (call.count && (calls++ % 6 == 0))
        compute(call);
    return 0;
}
