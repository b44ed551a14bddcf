// attack: family=channel expect=sandbox_violation,work_outside_the_clock gain=acceptance
// Announces an answer of two gigabytes, for which a grader may take memory or wait.
#include "attack.h"

extern "C" int solve(const solmark_tensor *, int, const solmark_scalar *, int, void *) {
    if (!judged()) {
        say_passed();
        return 0;
    }
    const uint32_t size = 0x7fffffff;
    if (write(4, &size, 4) < 0)
        return 0;
    return 0;
}
