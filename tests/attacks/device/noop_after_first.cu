// attack: task=add family=replay expected=wrong_answer gain=time
// Works on the first calls on each address, and then believes that nothing has changed.
#include <map>

#include "add.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    static std::map<void *, int> seen;
    return ++seen[t[2].data] > 1 ? 0 : add(t, (cudaStream_t)stream);
}
