// attack: task=add family=outside expected=work_outside_the_clock,wrong_answer gain=time
// Half of the calls wait on the device for 1 ms after done, to be written while the judge audits.
#define SHARE 0.5
#define SPIN_CYCLES (1ll * 1800000)
#include "early.cuh"
