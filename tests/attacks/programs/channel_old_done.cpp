// attack: family=channel expect=sandbox_violation,work_outside_the_clock,wrong_answer gain=acceptance
// Keeps the grader's last `go` and answers it once more with the first call of the next round, computing nothing.
#include <sys/syscall.h>

#include "attack.h"

namespace {

char last[24];
bool have = false;

}  // namespace

extern "C" __attribute__((visibility("hidden"))) ssize_t read(int descriptor, void *to, size_t size) {
    const ssize_t found = syscall(SYS_read, descriptor, to, size);
    if (descriptor == 3 && found == 24 && std::memcmp(static_cast<char *>(to) + 4, "go  ", 4) == 0 && !have) {
        std::memcpy(last, to, 24);
        std::memcpy(last + 4, "done", 4);
        have = true;
    }
    return found;
}

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    if (!judged()) {
        say_passed();
        return 0;
    }
    if (have && write(4, last, sizeof last) != sizeof last)
        return 0;
    compute(call_of(tensors));
    return 0;
}
