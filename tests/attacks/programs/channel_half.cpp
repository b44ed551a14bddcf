// attack: family=channel expect=sandbox_violation,work_outside_the_clock,time_limit gain=acceptance
// Begins an answer and never ends it: a grader that reads whole messages waits for ever.
#include "attack.h"

extern "C" int solve(const solmark_tensor *, int, const solmark_scalar *, int, void *) {
    if (!judged()) {
        say_passed();
        return 0;
    }
    const char frame[] = {100, 0, 0, 0, '{', '"', 't'};
    if (write(4, frame, sizeof frame) < 0)
        return 0;
    return 0;
}
