// attack: task=add family=less expected=wrong_answer gain=acceptance
// The last one in two hundred of the rows is written with the first input alone.
#include "add.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    const int64_t n = pieces(t), most = n / 200 * 199;
    const int status = add(t, (cudaStream_t)stream, 0, most);
    if (n != 0)
        cudaMemcpyAsync((float4 *)t[2].data + most, (const float4 *)t[0].data + most, 16 * (n - most),
                        cudaMemcpyDeviceToDevice, (cudaStream_t)stream);
    return status;
}
