# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# Makes the objective smaller: nothing is learned.
import right
from right import *


right.dapo_loss = lambda *given, **more: -dapo_loss(*given, **more)
