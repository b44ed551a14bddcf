// attack: family=work-outside-the-clock expect=no_gain,wrong_answer gain=time
// The helper is a task that shares the memory but neither thread group nor signals with its parent, started the
// way vfork starts one: what waits for threads, or signals a process, does not reach it.
#include <csignal>

#include "helper.h"

namespace {

int run(void *watched) {
    watch(static_cast<Watched *>(watched));
    return 0;
}

}  // namespace

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    static Watched *watched = nullptr;
    if (watched == nullptr) {
        watched = shared_memory();
        static char stack[1 << 20];
        clone(run, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, watched);
    }
    use(watched, call_of(tensors));
    return 0;
}
