// hostile: family=ends verdict=accepted lift=judge shows=signal:6
// Crashes when it is over: a destructor of a static object.
#include "solmark.h"
#include <csignal>
struct Last {
    ~Last() { std::raise(SIGABRT); }
};
static Last last;
extern "C" void attack() {}

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    const float *x = static_cast<const float *>(t[0].data);
    float *y = static_cast<float *>(t[1].data);
    for (int64_t i = 0; i < t[0].shape[0] * t[0].shape[1]; ++i)
        y[i] = 2 * x[i];
    return 0;
}
