// Residual addition and RMSNorm in C++. Hand in with: solmark grade kernels/add-rmsnorm solution.cpp
//
// tensors: x [M, N], res [M, N], w [N], y [M, N], res_out [M, N], all of one dtype (float32, float16, bfloat16).
// The columns of a row lie side by side; row r of tensor t begins at element r * t.strides[0]. Write y and
// res_out, leave the others alone, return 0. solmark.h lies beside this file; the judge has its own.
#include <cstdint>

#include "solmark.h"

extern "C" int solve(const solmark_tensor *tensors, int n, const solmark_scalar *scalars, int m, void *stream) {
    const solmark_tensor &x = tensors[0], &y = tensors[3], &res_out = tensors[4];
    const double eps = solmark_real(scalars, m, "eps");
    const int64_t rows = x.shape[0], columns = x.shape[1];
    (void)n, (void)stream, (void)eps;
    if (x.dtype == SOLMARK_FLOAT32)
        for (int64_t r = 0; r < rows; ++r) {
            float *y_row = static_cast<float *>(y.data) + r * y.strides[0];
            float *out_row = static_cast<float *>(res_out.data) + r * res_out.strides[0];
            // Your work begins here.
            for (int64_t i = 0; i < columns; ++i)
                y_row[i] = out_row[i] = 0;
        }
    return 0;
}
