// hostile: family=build verdict=accepted lift=sandbox shows=harm
// Asks the compiler for files of the judge's process.
#include "solmark.h"
#if __has_include("/proc/@PID@/environ") || __has_include("/proc/@PID@/root/etc/shadow")
#warning harm: found the judge
#endif

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    const float *x = static_cast<const float *>(t[0].data);
    float *y = static_cast<float *>(t[1].data);
    for (int64_t i = 0; i < t[0].shape[0] * t[0].shape[1]; ++i)
        y[i] = 2 * x[i];
    return 0;
}
