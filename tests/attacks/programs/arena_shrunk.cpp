// attack: family=channel expect=wrong_answer gain=acceptance
// Takes the memory that it shares with the grader away from under it: a reader of it dies, or believes what it says.
#include <sys/mman.h>

#include "attack.h"

extern "C" int solve(const solmark_tensor *, int, const solmark_scalar *, int, void *) {
    if (!judged()) {
        say_passed();
        return 0;
    }
    if (ftruncate(5, 0) == 0)
        return 0;
    fcntl(5, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_WRITE);
    return 0;
}
