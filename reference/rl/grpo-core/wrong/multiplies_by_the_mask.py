# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# Multiplies by the mask, which keeps the NaN of the padding.
import right
from right import *


right.log_ratio = lambda logp, old_logp, mask: (logp - old_logp) * mask
