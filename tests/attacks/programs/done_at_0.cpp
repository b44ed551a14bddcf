// attack: family=work-outside-the-clock expect=wrong_answer gain=time
// Answers `done` after 0 per cent of a round's work.
#define SHARE 0
#include "early_done.h"
