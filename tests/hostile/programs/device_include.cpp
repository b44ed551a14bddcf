// hostile: family=build verdict=memory_limit,time_limit lift=memory shows=memory:2048
// Includes a device that never ends: memory runs out, or on a slow machine time.
#include "/dev/zero"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    const float *x = static_cast<const float *>(t[0].data);
    float *y = static_cast<float *>(t[1].data);
    for (int64_t i = 0; i < t[0].shape[0] * t[0].shape[1]; ++i)
        y[i] = 2 * x[i];
    return 0;
}
