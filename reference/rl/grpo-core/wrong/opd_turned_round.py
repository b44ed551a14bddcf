# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# Distils with the divergence of the policy from the teacher.
import right
import torch
from right import *


def opd_loss(logits, teacher_logits, mask, *, total=None):
    logp = torch.log_softmax(logits, -1)
    logq = torch.log_softmax(teacher_logits, -1)
    return aggregate((logq.exp() * (logq - logp)).sum(-1), mask, "token_mean", total=total)
