// attack: task=add family=fusion expected=accepted,wrong_answer gain=time
// The first call of a round adds for all addresses known from before, and the others do nothing.
#include <algorithm>
#include <vector>

#include "add.cuh"

extern "C" int solve(const solmark_tensor *t, int n, const solmark_scalar *, int, void *stream) {
    static std::vector<void *> known;
    static solmark_tensor first[3];
    static int64_t stride = 0;
    if (solmark_elements(t) == 0)
        return 0;
    if (std::find(known.begin(), known.end(), t[2].data) == known.end()) {
        if (known.empty())
            std::copy(t, t + 3, first);
        else if (stride == 0)
            stride = (char *)t[2].data - (char *)known[0];
        known.push_back(t[2].data);
        return add(t, (cudaStream_t)stream);
    }
    if (t[2].data != known[0])
        return 0;
    int status = 0;
    for (size_t i = 0; i < known.size() && status == 0; ++i) {
        solmark_tensor at[3] = {t[0], t[1], t[2]};
        for (int k = 0; k < 3; ++k)
            at[k].data = (char *)t[k].data + ((char *)known[i] - (char *)known[0]);
        status = add(at, (cudaStream_t)stream);
    }
    return status;
}
