// hostile: family=build verdict=build_error,memory_limit,time_limit lift=judge shows=fails
// Nests so deep that the compiler itself crashes.
#define A(x) ((((((((((((((((((((((((((((((((x))))))))))))))))))))))))))))))))
#define B(x) A(A(A(A(A(A(A(A(x))))))))
#define C(x) B(B(B(B(B(B(B(B(x))))))))
#define D(x) C(C(C(C(C(C(C(C(x))))))))
#define E(x) D(D(D(D(D(D(D(D(x))))))))
extern "C" int solve() { return E(0); }
