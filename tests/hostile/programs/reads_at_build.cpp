// hostile: family=build verdict=build_error lift=sandbox shows=exit:0
// Takes a file of the host into its own program while it is built.
#include "solmark.h"
asm(".incbin \"/etc/shadow\"");

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    const float *x = static_cast<const float *>(t[0].data);
    float *y = static_cast<float *>(t[1].data);
    for (int64_t i = 0; i < t[0].shape[0] * t[0].shape[1]; ++i)
        y[i] = 2 * x[i];
    return 0;
}
