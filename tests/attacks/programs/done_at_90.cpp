// attack: family=work-outside-the-clock expect=wrong_answer gain=time
// Answers `done` after 90 per cent of a round's work.
#define SHARE 90
#include "early_done.h"
