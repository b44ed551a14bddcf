// attack: family=doing-less expect=wrong_answer gain=acceptance
// Right as long as it may be in a test, and with five terms of eight after its first ten calls.
#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    static int calls = 0;
    compute(call_of(tensors), ++calls <= 10 ? 8 : 5);
    return 0;
}
