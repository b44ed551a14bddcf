// attack: family=work-outside-the-clock expect=no_gain,wrong_answer gain=time
// A forked child computes each slot as soon as it is filled: memory is shared, and its clock is not the parent's.
#include "helper.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    static Watched *watched = nullptr;
    if (watched == nullptr) {
        watched = shared_memory();
        if (fork() == 0)
            watch(watched);
    }
    use(watched, call_of(tensors));
    return 0;
}
