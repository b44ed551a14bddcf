// attack: family=work-outside-the-clock expect=no_gain,wrong_answer gain=time
// A thread watches the inputs of all slots that it knows, and computes each as soon as it is filled.
#include <thread>

#include "helper.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    static Watched *watched = nullptr;
    if (watched == nullptr) {
        watched = shared_memory();
        std::thread(watch, watched).detach();
    }
    use(watched, call_of(tensors));
    return 0;
}
