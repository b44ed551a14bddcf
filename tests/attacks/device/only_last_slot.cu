// attack: task=add family=question expected=wrong_answer,accepted gain=time
// Works only where the address is the highest seen so far: whoever checks one call checks the last.
#include "add.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    static char *highest = nullptr;
    static int calls = 0;
    if ((char *)t[2].data < highest && ++calls > 8)
        return 0;
    highest = (char *)t[2].data > highest ? (char *)t[2].data : highest;
    return add(t, (cudaStream_t)stream);
}
