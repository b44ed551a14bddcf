// hostile: family=ends verdict=wrong_answer lift=judge shows=harm
// Writes behind the end of its output.
#include "solmark.h"
#include <cstdio>
static void write_behind(float *end) {
    for (int i = 0; i < 8; ++i)
        end[i] = 666;
}
extern "C" void attack() {
    static float neighbours[32];
    write_behind(neighbours + 16);
    if (neighbours[20] != 0) {
        std::puts("harm: changed what was behind");
        std::fflush(stdout);
    }
}

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    const float *x = static_cast<const float *>(t[0].data);
    float *y = static_cast<float *>(t[1].data);
    for (int64_t i = 0; i < t[0].shape[0] * t[0].shape[1]; ++i)
        y[i] = 2 * x[i];
    write_behind(y + t[1].shape[0] * t[1].shape[1]);
    return 0;
}
