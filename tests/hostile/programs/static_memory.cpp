// hostile: family=memory verdict=memory_limit lift=memory shows=harm
// Has more in its static variables than it may have.
#include "solmark.h"
#include <cstdio>
static volatile char huge[1500u << 20];
extern "C" void attack() {
    for (unsigned at = 0; at < sizeof huge; at += 4096)
        huge[at] = 1;
    std::puts("harm: 1500 MiB");
    std::fflush(stdout);
}

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    attack();
    const float *x = static_cast<const float *>(t[0].data);
    float *y = static_cast<float *>(t[1].data);
    for (int64_t i = 0; i < t[0].shape[0] * t[0].shape[1]; ++i)
        y[i] = 2 * x[i];
    return 0;
}
