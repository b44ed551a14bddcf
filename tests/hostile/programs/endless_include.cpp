// hostile: family=build verdict=build_error lift=none
// Includes itself.
#include "solution.cpp"
