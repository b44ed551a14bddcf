// hostile: family=build verdict=build_error lift=disk shows=exit:0
// A variable whose object file is larger than the disk may be.
#include "solmark.h"
char huge[300u << 20] = {1};

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    const float *x = static_cast<const float *>(t[0].data);
    float *y = static_cast<float *>(t[1].data);
    for (int64_t i = 0; i < t[0].shape[0] * t[0].shape[1]; ++i)
        y[i] = 2 * x[i];
    return 0;
}
