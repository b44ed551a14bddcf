// attack: task=busy family=fusion expected=wrong_answer gain=time
// Every 8th call does the work of 8 calls at once, on blocks that would be idle.
#define MANY 8
#include "fuse.cuh"
