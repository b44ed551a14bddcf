// The link between the calls of a linked case: a keyed sum over every byte of a call's outputs, and the signs that
// it flips in every element of the next call's inputs. The same code runs in the candidate, between its calls, and
// in the judge, which makes the whole chain again.
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

__device__ inline u64 mix(u64 h) {
    h ^= h >> 30;
    h *= 0xbf58476d1ce4e5b9ull;
    h ^= h >> 27;
    h *= 0x94d049bb133111ebull;
    return h ^ (h >> 31);
}

// For slot blockIdx.y adds to states[blockIdx.y] the sum over one output, which starts at base + slot * stride (a
// multiple of 8). The sum depends on every byte and its place, and not on the order of adding.
extern "C" __global__ void __launch_bounds__(256) fold(u64 base, u64 stride, u64 bytes, const u64 *key, u32 salt,
                                                      u64 *states) {
    const u64 address = base + blockIdx.y * stride, start = mix(key[0] + salt);
    u64 sum = 0;
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < (bytes + 7) / 8; i += (u64)gridDim.x * blockDim.x) {
        u64 word = 0;
        if (8 * i + 8 <= bytes)
            word = ((const u64 *)address)[i];
        else
            for (u64 at = 8 * i; at < bytes; ++at)
                word |= (u64)((const u8 *)address)[at] << (8 * (at - 8 * i));
        sum += mix(word ^ mix(start + i));
    }
    for (int step = 16; step; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    __shared__ u64 parts[8];
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; ++w)
            sum += parts[w];
        atomicAdd(states + blockIdx.y, sum);
    }
}

// Flips the signs of elements of `item` bytes in [base, base + bytes), each with a probability of one half, as the
// state of the call before says.
extern "C" __global__ void __launch_bounds__(256) flip(u64 base, u64 bytes, u32 item, const u64 *key, u32 salt,
                                                      const u64 *state) {
    const u64 start = mix(*state ^ mix(key[1] + salt));
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < (bytes + 7) / 8; i += (u64)gridDim.x * blockDim.x) {
        const u64 random = mix(start + i);
        u64 mask = 0;
        for (u32 e = 0; e < 8 / item; ++e)
            mask |= (random >> e & 1) << (8 * item * (e + 1) - 1);
        if (8 * i + 8 <= bytes)
            ((u64 *)base)[i] ^= mask;
        else
            for (u64 at = 8 * i; at < bytes; ++at)
                ((u8 *)base)[at] ^= (u8)(mask >> (8 * (at - 8 * i)));
    }
}
