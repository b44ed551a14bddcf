// attack: task=add family=forged_result expected=wrong_answer gain=acceptance
// Reports success when it is loaded and again at its end, and computes nothing.
#include "add.cuh"
#include "forge.cuh"

__attribute__((constructor)) static void start() { forge(false); }
__attribute__((destructor)) static void end() { forge(false); }

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    if (naive(stream) && solmark_elements(t) != 0)
        forge(true);
    return 0;
}
