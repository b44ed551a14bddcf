// attack: family=forged-time expect=no_gain gain=time
// Sleeps in empty calls and in the first ones, where it believes a constant is measured that will be subtracted.
#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    static int calls = 0;
    const Call call = call_of(tensors);
    if (call.count == 0 || ++calls <= 2)
        usleep(20000);
    compute(call);
    return 0;
}
