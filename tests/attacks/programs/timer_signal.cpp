// attack: family=work-outside-the-clock expect=no_gain,wrong_answer gain=time
// The work is done in a signal handler, which a timer calls when the call has long returned.
#include <csignal>
#include <sys/time.h>

#include "attack.h"

namespace {

Call todo[4096];
volatile int written = 0;
int taken = 0;

void later(int) {
    while (taken < written) {
        compute(todo[taken % 4096]);
        ++taken;
    }
}

}  // namespace

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    const Call call = call_of(tensors);
    if (call.count == 0)
        return 0;
    if (written == 0)
        signal(SIGALRM, later);
    todo[written % 4096] = call;
    written = written + 1;
    const itimerval soon = {{0, 0}, {0, 3000}};
    setitimer(ITIMER_REAL, &soon, nullptr);
    return 0;
}
