// hostile: family=ends verdict=runtime_error lift=judge shows=signal:8
// Divides an integer by zero.
#include "solmark.h"
extern "C" int attack() {
    volatile int zero = 0;
    volatile int result = 7 / zero;
    return result;
}

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    attack();
    const float *x = static_cast<const float *>(t[0].data);
    float *y = static_cast<float *>(t[1].data);
    for (int64_t i = 0; i < t[0].shape[0] * t[0].shape[1]; ++i)
        y[i] = 2 * x[i];
    return 0;
}
