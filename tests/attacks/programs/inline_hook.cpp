// attack: family=forged-time expect=no_gain gain=time
// Writes over the first bytes of the C library's clock_gettime: every clock of the process says the same for ever.
#include <ctime>
#include <dlfcn.h>
#include <sys/mman.h>

#include "attack.h"

static int stopped(clockid_t, timespec *now) {
    now->tv_sec = 1;
    now->tv_nsec = 0;
    return 0;
}

__attribute__((constructor)) static void begin() {
#if defined(__x86_64__)
    auto *code = static_cast<unsigned char *>(dlsym(RTLD_DEFAULT, "clock_gettime"));
    auto *page = reinterpret_cast<unsigned char *>(reinterpret_cast<uintptr_t>(code) & ~uintptr_t{4095});
    if (code == nullptr || mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return;
    unsigned char jump[12] = {0x48, 0xb8};  // movabs rax; jmp rax
    const auto target = reinterpret_cast<uint64_t>(&stopped);
    std::memcpy(jump + 2, &target, 8);
    jump[10] = 0xff;
    jump[11] = 0xe0;
    std::memcpy(code, jump, sizeof jump);
    mprotect(page, 8192, PROT_READ | PROT_EXEC);
#endif
}

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    compute(call_of(tensors));
    return 0;
}
