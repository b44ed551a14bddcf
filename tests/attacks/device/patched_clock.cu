// attack: task=add family=forged_time expected=accepted gain=time
// Rewrites the functions that tell the time in this process: of CUDA's events, and of the system.
#include <dlfcn.h>
#include <ctime>

#include "add.cuh"
#include "hook.cuh"

static int elapsed(float *milliseconds, void *, void *) {
    *milliseconds = 1e-6f;
    return 0;
}

__attribute__((constructor)) static void start() {
    for (const char *library : {"libcudart.so.13", "libcudart.so.12"})
        if (void *handle = dlopen(library, RTLD_NOLOAD | RTLD_NOW))
            for (const char *name : {"cudaEventElapsedTime", "cudaEventElapsedTime_v2"})
                if (void *function = dlsym(handle, name))
                    hook(function, (void *)&elapsed);
}

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    return add(t, (cudaStream_t)stream);
}
