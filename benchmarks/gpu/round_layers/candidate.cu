// A native candidate, honest and not, for the experiments of judge.py: it maps the judge's arena, captures its calls
// in CUDA graphs and answers raw frames on two pipes. Honest or cheating, it is only told what a submission is told.
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <unistd.h>
#include <vector>

#define OK(x)                                                                             \
    do {                                                                                  \
        auto status = (x);                                                                \
        if (int(status)) {                                                                \
            std::fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #x, int(status)); \
            std::exit(1);                                                                 \
        }                                                                                 \
    } while (0)

constexpr int N = 256;              // rows and columns of the small product: 16 blocks, most of the device idle
constexpr int PLACES = 64;          // places of an output that a link reads, and of an input that a sparse link flips
constexpr int STREAMS = 8;

__host__ __device__ inline uint32_t mix(uint32_t h) {  // a finaliser of 32-bit hashes: enough for an experiment
    h ^= h >> 16; h *= 0x85ebca6bu; h ^= h >> 13; h *= 0xc2b2ae35u; h ^= h >> 16;
    return h;
}

__global__ void add(const float4* x, const float4* y, float4* o, size_t n) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
        float4 a = x[i], b = y[i];
        o[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    }
}

__global__ void product(const float* a, const float* b, float* o) {  // 64×64 tiles, 256 threads, 4×4 a thread
    __shared__ float as[16][65], bs[16][65];
    int row = blockIdx.y * 64, column = blockIdx.x * 64, tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float sum[4][4] = {};
    for (int k = 0; k < N; k += 16) {
        for (int i = threadIdx.x; i < 1024; i += 256) {
            as[i % 16][i / 16] = a[(row + i / 16) * N + k + i % 16];
            bs[i / 64][i % 64] = b[(k + i / 64) * N + column + i % 64];
        }
        __syncthreads();
        for (int q = 0; q < 16; q++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) sum[i][j] += as[q][ty * 4 + i] * bs[q][tx * 4 + j];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) o[(row + ty * 4 + i) * N + column + tx * 4 + j] = sum[i][j];
}

__device__ uint32_t fold(const float* previous, uint32_t key) {  // the keyed hash of the output's secret places
    __shared__ uint32_t h;
    if (threadIdx.x == 0) h = key;
    __syncthreads();
    if (threadIdx.x < PLACES) {
        uint32_t place = mix(key * 31u + threadIdx.x) % (N * N);
        atomicXor(&h, mix(__float_as_uint(previous[place]) + threadIdx.x));
    }
    __syncthreads();
    return h;
}

__global__ void link_dense(const float* previous, float* x, uint32_t key) {  // flips signs all over the input
    uint32_t h = fold(previous, key);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N * N; i += gridDim.x * blockDim.x)
        if (mix(h + i) & 1) x[i] = -x[i];
}

__global__ void link_sparse(const float* previous, float* x, uint32_t key) {  // flips PLACES elements of the input
    uint32_t h = fold(previous, key);
    if (threadIdx.x < PLACES) {
        int i = threadIdx.x * (N * N / PLACES) + mix(h + threadIdx.x) % (N * N / PLACES);
        x[i] = -x[i];
    }
}

__global__ void repair(const float* previous, const float* x, const float* b, float* o, uint32_t key) {
    uint32_t h = fold(previous, key);  // a block a place, each in a row of its own: undo a flip not made when computing ahead
    int p = blockIdx.x, i = p * (N * N / PLACES) + mix(h + p) % (N * N / PLACES), row = i / N, k = i % N;
    o[row * N + threadIdx.x] -= 2 * x[i] * b[k * N + threadIdx.x];
}

struct Frame { uint8_t what; uint8_t pad[7]; uint64_t nonce; };  // 'g' go, 'd' done
enum Mode { HONEST = 0, EARLY_DONE = 1, DELAYED_DONE = 2 };

static void take(int fd, void* p, size_t n) {
    for (size_t got = 0; got < n;) {
        ssize_t r = read(fd, (char*)p + got, n - got);
        if (r <= 0) std::exit(0);
        got += r;
    }
}

struct Setup { char op; char pad[3]; int32_t calls; uint32_t mode; uint32_t key; uint64_t slot_bytes; uint64_t tensor_bytes; double delay_us; };

int main(int argc, char** argv) {  // arguments: descriptor of the arena, its size, descriptor to read, to write
    int arena_fd = std::atoi(argv[1]), in = std::atoi(argv[3]), out = std::atoi(argv[4]);
    size_t size = std::strtoull(argv[2], nullptr, 10);
    OK(cudaFree(0));
    CUmemGenericAllocationHandle handle;
    CUdeviceptr base;
    OK(cuMemImportFromShareableHandle(&handle, (void*)(intptr_t)arena_fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    OK(cuMemAddressReserve(&base, size, 0, 0, 0));
    OK(cuMemMap(base, size, 0, handle, 0));
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    OK(cuMemSetAccess(base, size, &access, 1));
    cudaStream_t s, side[STREAMS];
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (auto& q : side) OK(cudaStreamCreateWithFlags(&q, cudaStreamNonBlocking));
    cudaEvent_t fork, join;
    OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    Frame ready = {'r', {}, 0};
    if (write(out, &ready, sizeof ready) != sizeof ready) return 1;
    cudaGraphExec_t exec = nullptr;
    for (;;) {
        Setup setup;
        take(in, &setup, sizeof setup);
        if (setup.op == 'q') return 0;
        auto at = [&](int slot, int t) { return (float*)(base + slot * setup.slot_bytes + t * setup.tensor_bytes); };
        auto call = [&](int i, cudaStream_t on) {
            if (setup.op == 'a') add<<<1056, 256, 0, on>>>((float4*)at(i, 0), (float4*)at(i, 1), (float4*)at(i, 2), setup.tensor_bytes / 16);
            else product<<<dim3(4, 4), 256, 0, on>>>(at(i, 0), at(i, 1), at(i, 2));
        };
        if (exec) OK(cudaGraphExecDestroy(exec));
        cudaGraph_t graph;
        OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
        // a: add. p: product. d, e: linked densely, sparsely. r: the sparse link evaded. o: overlapped. l, m: links alone.
        bool ahead = setup.op == 'r' || setup.op == 'o';
        if (ahead) {
            OK(cudaEventRecord(fork, s));
            for (auto q : side) OK(cudaStreamWaitEvent(q, fork, 0));
            for (int i = 0; i < setup.calls; i++) call(i, side[i % STREAMS]);
            for (auto q : side) { OK(cudaEventRecord(join, q)); OK(cudaStreamWaitEvent(s, join, 0)); }
        }
        for (int i = 0; i < setup.calls; i++) {
            uint32_t key = setup.key + i;
            if (i && (setup.op == 'd' || setup.op == 'l')) link_dense<<<32, 256, 0, s>>>(at(i - 1, 2), at(i, 0), key);
            if (i && (setup.op == 'e' || setup.op == 'm')) link_sparse<<<1, 256, 0, s>>>(at(i - 1, 2), at(i, 0), key);
            if (i && setup.op == 'r') repair<<<PLACES, 256, 0, s>>>(at(i - 1, 2), at(i, 0), at(i, 1), at(i, 2), key);
            if (!ahead && setup.op != 'l' && setup.op != 'm') call(i, s);
        }
        OK(cudaStreamEndCapture(s, &graph));
        OK(cudaGraphInstantiate(&exec, graph, 0));
        OK(cudaGraphDestroy(graph));
        OK(cudaGraphUpload(exec, s));
        OK(cudaStreamSynchronize(s));
        Frame frame = {'p', {}, 0};
        if (write(out, &frame, sizeof frame) != sizeof frame) return 1;
        for (;;) {  // rounds, until the judge sends 's' (set up again)
            take(in, &frame, sizeof frame);
            if (frame.what == 's') break;
            timespec a, b;
            clock_gettime(CLOCK_MONOTONIC_RAW, &a);
            OK(cudaGraphLaunch(exec, s));
            if (setup.mode == HONEST) OK(cudaStreamSynchronize(s));
            if (setup.mode == DELAYED_DONE) do clock_gettime(CLOCK_MONOTONIC_RAW, &b);
                while ((b.tv_sec - a.tv_sec) * 1e6 + (b.tv_nsec - a.tv_nsec) * 1e-3 < setup.delay_us);
            frame.what = 'd';
            if (write(out, &frame, sizeof frame) != sizeof frame) return 1;
            if (setup.mode != HONEST) OK(cudaStreamSynchronize(s));
        }
    }
}
