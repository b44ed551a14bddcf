// attack: family=forged-result expect=runtime_error gain=acceptance
// Prints the grader's own success line and ends the process before anything is checked.
#include "attack.h"

extern "C" int solve(const solmark_tensor *, int, const solmark_scalar *, int, void *) {
    say_passed();
    _exit(0);
}
