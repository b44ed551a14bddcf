// attack: family=forged-time expect=no_gain gain=time
// Native code reaches up into the interpreter that has loaded it and stops its clocks.
#include <dlfcn.h>

#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    static bool patched = false;
    if (!patched) {
        const auto ensure = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_Ensure"));
        const auto release = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "PyGILState_Release"));
        const auto run = reinterpret_cast<int (*)(const char *)>(dlsym(RTLD_DEFAULT, "PyRun_SimpleString"));
        if (ensure && release && run) {
            const int state = ensure();
            run("import time\nfor n in ('perf_counter', 'monotonic', 'time'): setattr(time, n, lambda: 1.0)");
            release(state);
        }
        patched = true;
    }
    compute(call_of(tensors));
    return 0;
}
