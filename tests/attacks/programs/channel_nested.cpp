// attack: family=channel expect=sandbox_violation,work_outside_the_clock gain=acceptance
// Answers with JSON nested so deeply that a parser runs out of stack.
#include "attack.h"

extern "C" int solve(const solmark_tensor *, int, const solmark_scalar *, int, void *) {
    if (!judged()) {
        say_passed();
        return 0;
    }
    static char frame[4 + 40000];
    const uint32_t size = sizeof frame - 4;
    std::memcpy(frame, &size, 4);
    std::memset(frame + 4, '[', size);
    if (write(4, frame, sizeof frame) < 0)
        return 0;
    return 0;
}
