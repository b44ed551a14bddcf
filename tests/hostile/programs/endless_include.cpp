// hostile: family=build verdict=build_error lift=judge shows=exit:1
// Includes itself.
#include "solution.cpp"
