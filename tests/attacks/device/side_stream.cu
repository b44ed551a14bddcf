// attack: task=add family=outside expected=wrong_answer,work_outside_the_clock,runtime_error gain=time
// The work goes to a stream that no timer looks at, and that no capture sees.
#include "add.cuh"

extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) { return add(t, aside()); }
