// hostile: family=ends verdict=runtime_error lift=judge shows=signal:11
// Tells the loader to call an address where nothing is.
#include "solmark.h"
__asm__(".section .init_array,\"aw\"\n .quad 1\n .previous");
extern "C" void attack() {}

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    const float *x = static_cast<const float *>(t[0].data);
    float *y = static_cast<float *>(t[1].data);
    for (int64_t i = 0; i < t[0].shape[0] * t[0].shape[1]; ++i)
        y[i] = 2 * x[i];
    return 0;
}
