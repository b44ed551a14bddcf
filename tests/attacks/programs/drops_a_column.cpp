// attack: family=doing-less expect=wrong_answer gain=acceptance
// The last of the 512 columns is left to chance, which an error over everything hides.
#include "attack.h"

extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    const Call call = call_of(tensors);
    if (call.count == 0)
        return 0;
    const int64_t columns = tensors[0].shape[1];
    for (int64_t row = 0; row < tensors[0].shape[0]; ++row) {
        compute({call.x + row * columns, call.y + row * columns, columns - 1});
        call.y[(row + 1) * columns - 1] = 0;
    }
    return 0;
}
