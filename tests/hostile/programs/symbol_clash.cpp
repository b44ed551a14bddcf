// hostile: family=build verdict=build_error lift=judge shows=exit:0
// Defines what our runner defines, to take its place.
#include "solmark.h"
extern "C" int solmark_runner_round() { return 0; }
extern "C" int solmark_runner_call() { return 0; }
extern "C" const char *solmark_runner_text() { return "accepted"; }

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    const float *x = static_cast<const float *>(t[0].data);
    float *y = static_cast<float *>(t[1].data);
    for (int64_t i = 0; i < t[0].shape[0] * t[0].shape[1]; ++i)
        y[i] = 2 * x[i];
    return 0;
}
