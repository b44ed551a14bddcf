// attack: task=add family=outside expected=work_outside_the_clock,wrong_answer gain=time
// Native code in place of the harness answers done at 90 % of the calls; the rest is queued and runs on.
#define SHARE 0.90
#include "early.cuh"
