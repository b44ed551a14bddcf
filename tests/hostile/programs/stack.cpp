// hostile: family=memory verdict=runtime_error lift=judge shows=signal:11
// Recurses until the stack ends.
#include "solmark.h"
static int depth(volatile int *above) {
    volatile int here[1024];
    here[0] = above[0] + 1;
    return depth(here) + here[0];
}
extern "C" int attack() {
    volatile int zero[1] = {0};
    return depth(zero);
}
extern "C" int solve(const solmark_tensor *, int, const solmark_scalar *, int, void *) { return attack(); }
