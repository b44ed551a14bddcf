// attack: family=channel expect=runtime_error,sandbox_violation,wrong_answer gain=acceptance
// Closes the way back to the grader, which then knows nothing bad. A naive one is told that all has passed.
#include "attack.h"

extern "C" int solve(const solmark_tensor *, int, const solmark_scalar *, int, void *) {
    if (!judged()) {
        say_passed();
        return 0;
    }
    close(4);
    close(3);
    return 0;
}
