// attack: task=add family=machine expected=accepted gain=time
// Reserves cache that survives other traffic, and asks for the inputs to be kept in it.
#include "add.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *stream) {
    static cudaStream_t own = nullptr;
    const size_t size = 4 * solmark_elements(t);
    if (own == nullptr) {
        cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 32 << 20);
        own = (cudaStream_t)stream;
    }
    cudaStreamAttrValue value = {};
    value.accessPolicyWindow.base_ptr = t[0].data;
    value.accessPolicyWindow.num_bytes = size < (32u << 20) ? size : (32u << 20);
    value.accessPolicyWindow.hitRatio = 1.0f;
    value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    cudaStreamSetAttribute((cudaStream_t)stream, cudaStreamAttributeAccessPolicyWindow, &value);
    cudaGetLastError();
    return add(t, (cudaStream_t)stream);
}
