// hostile: family=ends verdict=runtime_error lift=judge shows=signal:11
// Crashes while it is loaded, before anybody has called it.
#include "solmark.h"
#include <csignal>
__attribute__((constructor)) static void begin() { std::raise(SIGSEGV); }
extern "C" void attack() {}

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    const float *x = static_cast<const float *>(t[0].data);
    float *y = static_cast<float *>(t[1].data);
    for (int64_t i = 0; i < t[0].shape[0] * t[0].shape[1]; ++i)
        y[i] = 2 * x[i];
    return 0;
}
