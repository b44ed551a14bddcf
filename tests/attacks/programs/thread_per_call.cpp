// attack: family=work-outside-the-clock expect=no_gain,wrong_answer gain=time
// Every call starts a thread that does its work and returns at once.
#include <thread>

#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    const Call call = call_of(tensors);
    if (call.count)
        std::thread([call] { compute(call); }).detach();
    return 0;
}
