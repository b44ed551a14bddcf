// attack: family=doing-less expect=wrong_answer gain=acceptance
// Five of the eight terms: within 4 % by a norm over everything.
#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    compute(call_of(tensors), 5);
    return 0;
}
