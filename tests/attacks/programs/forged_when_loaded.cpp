// attack: family=forged-result expect=runtime_error,build_error gain=acceptance
// A constructor, run while the object is loaded, says that all has passed and ends the process.
#include "attack.h"

__attribute__((constructor)) static void begin() {
    say_passed();
    _exit(0);
}

extern "C" int solve(const solmark_tensor *, int, const solmark_scalar *, int, void *) { return 0; }
