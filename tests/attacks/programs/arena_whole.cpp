// attack: family=changing-the-question expect=wrong_answer gain=acceptance
// Maps all of the memory that it shares with the grader, and makes every input there zero, for which zero is right.
#include <sys/mman.h>

#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    const Call call = call_of(tensors);
    if (!judged()) {
        std::memset(const_cast<float *>(call.x), 0, 4 * call.count);
        std::memset(call.y, 0, 4 * call.count);
        return 0;
    }
    struct stat arena;
    if (fstat(5, &arena) != 0)
        return 0;
    void *all = mmap(nullptr, arena.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, 5, 0);
    if (all != MAP_FAILED) {
        std::memset(all, 0, arena.st_size);
        munmap(all, arena.st_size);
    }
    return 0;
}
