// attack: family=work-outside-the-clock expect=wrong_answer gain=time
// Answers `done` after 50 per cent of a round's work.
#define SHARE 50
#include "early_done.h"
