// hostile: family=ends verdict=runtime_error lift=judge shows=exit:0
// Another thread ends the program, as if all were well.
#include "solmark.h"
#include <thread>
#include <unistd.h>
extern "C" void attack() {
    std::thread([] { _exit(0); }).join();
}

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    attack();
    const float *x = static_cast<const float *>(t[0].data);
    float *y = static_cast<float *>(t[1].data);
    for (int64_t i = 0; i < t[0].shape[0] * t[0].shape[1]; ++i)
        y[i] = 2 * x[i];
    return 0;
}
