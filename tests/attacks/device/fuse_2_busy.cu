// attack: task=busy family=fusion expected=wrong_answer gain=time
// Every 2th call does the work of 2 calls at once, on blocks that would be idle.
#define MANY 2
#include "fuse.cuh"
