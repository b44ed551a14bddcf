// attack: family=none expect=accepted
// The honest solution in C++.
#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    compute(call_of(tensors));
    return 0;
}
