// attack: family=work-outside-the-clock expect=no_gain,wrong_answer gain=time
// A thread vforks: it sleeps in the kernel, beyond the reach of signals, while its child computes in the same memory.
#include <thread>

#include "helper.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    static Watched *watched = nullptr;
    if (watched == nullptr) {
        watched = shared_memory();
        std::thread([] {
            if (vfork() == 0)
                watch(watched);
        }).detach();
    }
    use(watched, call_of(tensors));
    return 0;
}
