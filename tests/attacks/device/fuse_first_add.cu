// attack: task=add family=fusion expected=accepted,wrong_answer,overlap gain=time
// The first call of a round adds for all addresses known from before, and the others do nothing.
#include <array>
#include <vector>

#include "add.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    static std::vector<std::array<void *, 3>> known;
    if (solmark_elements(t) == 0)
        return 0;
    bool seen = false;
    for (const auto &call : known)
        seen = seen || call[2] == t[2].data;
    if (!seen) {
        known.push_back({t[0].data, t[1].data, t[2].data});
        return add(t, (cudaStream_t)stream);
    }
    if (t[2].data != known[0][2])
        return 0;
    int status = 0;
    for (size_t i = 0; i < known.size() && status == 0; ++i) {
        solmark_tensor at[3] = {t[0], t[1], t[2]};
        for (int k = 0; k < 3; ++k)
            at[k].data = known[i][k];
        status = add(at, (cudaStream_t)stream);
    }
    return status;
}
