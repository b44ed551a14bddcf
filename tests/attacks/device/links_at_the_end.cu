// attack: task=busy family=linked expected=wrong_answer gain=time
// All calls side by side; only then the links, each as it should be.
#define STREAMS 8
#define LINKS 1
#include "linked.cuh"
