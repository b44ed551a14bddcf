// attack: family=reading-secrets expect=wrong_answer gain=acceptance
// Native code reaches up into the interpreter above it for the outputs that its frames expect.
#include <dlfcn.h>

#include "attack.h"

static const char SEARCH[] =
    "import sys, ctypes\n"
    "frame = sys._getframe()\n"
    "while frame is not None:\n"
    "    expected, slots = frame.f_locals.get('expected'), frame.f_locals.get('slots')\n"
    "    for right, (x, y) in zip(expected or (), slots or ()):\n"
    "        if x.data_ptr() == %lld: y.copy_(right)\n"
    "    frame = frame.f_back\n";

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    const auto ensure = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_Ensure"));
    const auto release = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "PyGILState_Release"));
    const auto run = reinterpret_cast<int (*)(const char *)>(dlsym(RTLD_DEFAULT, "PyRun_SimpleString"));
    if (!ensure || !release || !run)
        return 0;
    char text[1024];
    std::snprintf(text, sizeof text, SEARCH, static_cast<long long>(reinterpret_cast<intptr_t>(tensors[0].data)));
    const int state = ensure();
    run(text);
    release(state);
    return 0;
}
