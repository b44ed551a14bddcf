// attack: family=work-outside-the-clock expect=no_gain,wrong_answer gain=time
// The forked child and its parent wake each other: a timer of each sends SIGCONT a thousand times a second, so
// that a judge which stops them by signals has them running again at once.
#include <csignal>
#include <sys/time.h>

#include "helper.h"

namespace {

pid_t other = 0;

void wake(int) {
    kill(other, SIGCONT);
    kill(getpid(), SIGCONT);
}

void start_timer() {
    struct sigaction action = {};
    action.sa_handler = wake;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    const itimerval often = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &often, nullptr);
}

}  // namespace

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    static Watched *watched = nullptr;
    if (watched == nullptr) {
        watched = shared_memory();
        const pid_t parent = getpid(), child = fork();
        other = child == 0 ? parent : child;
        start_timer();
        if (child == 0)
            watch(watched);
    }
    use(watched, call_of(tensors));
    return 0;
}
