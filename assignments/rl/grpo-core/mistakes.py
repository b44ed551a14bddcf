"""Names a mistake when an answer is just what that mistake would give."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from . import oracle
from .oracle import RULES, Answers, Given, Keywords, Rule

if TYPE_CHECKING:
    import torch

Sentence = tuple[str, str]
Mistake = tuple[Callable[[Given, Keywords], Answers], str, str]


def _rules(rule: Rule) -> Iterator[tuple[Rule, str, str]]:
    """Wrong rules beside a right one, and what to say about each."""
    yield (
        replace(rule, sign=1.0),
        "Its sign is wrong: an optimizer makes a loss smaller, so it is minus the objective.",
        "符号错了：优化器会减小损失，因此损失是目标的相反数。",
    )
    yield (
        replace(rule, local=True),
        "The mean is over this micro-batch alone; divide by `total`, which counts the whole batch.",
        "平均只取了这个微批次；应除以 `total`，它是整个批次的计数。",
    )
    yield (
        replace(rule, padded=True),
        "Padding is counted; only tokens where the mask is true are the policy's.",
        "把填充也算进去了；只有 mask 为真的 token 才属于策略。",
    )
    yield (
        replace(rule, clip="always"),
        "The clipped ratio is always taken; it is the smaller of the two products, clipped and not.",
        "总是取了截断后的比值；应取截断与未截断两个乘积中较小的一个。",
    )
    yield (
        replace(rule, clip="never"),
        "Nothing is clipped.",
        "没有做截断。",
    )
    yield (
        replace(rule, frozen=True),
        "The ratio is always 1: old_logp is what the policy that sampled gave, not the present one.",
        "比值恒为 1：old_logp 是采样时策略给出的值，而不是当前策略的。",
    )
    for mean, en, zh in (
        ("tokens", "all tokens of the batch", "整个批次的所有 token"),
        (
            "sequences",
            "the tokens of each sequence, and then over the sequences",
            "先对每条序列的 token，再对序列",
        ),
    ):
        if rule.ratio == "token" and rule.mean != mean:
            yield (
                replace(rule, mean=mean),  # type: ignore[arg-type]
                f"The mean was taken over {en}; that is another loss's.",
                f"平均取的是{zh}；那是另一种损失的做法。",
            )
    if rule.ratio == "sequence":
        yield (
            replace(rule, ratio="sum"),
            "The log-ratios of a sequence were added up; GSPO takes their mean over its tokens.",
            "把一条序列的对数比值相加了；GSPO 取它们对 token 的平均。",
        )
        yield (
            replace(rule, ratio="token"),
            "The ratio is that of each token; GSPO has one for the whole sequence.",
            "比值取的是逐 token 的；GSPO 对整条序列只有一个比值。",
        )
    if rule.penalty == "k3":
        yield (replace(rule, penalty="none"), "The KL term is missing.", "缺少 KL 项。")
        yield (
            replace(rule, penalty="k1"),
            "The KL term is the plain log-ratio (k1); here it is k3: exp(d) - d - 1.",
            "KL 项用了单纯的对数比值（k1）；这里应为 k3：exp(d) - d - 1。",
        )
        yield (
            replace(rule, penalty="k2"),
            "The KL term is half the square of the log-ratio (k2); here it is k3: exp(d) - d - 1.",
            "KL 项用了对数比值平方的一半（k2）；这里应为 k3：exp(d) - d - 1。",
        )
        yield (
            replace(rule, penalty="k3 reversed"),
            "The KL term has the two policies the wrong way round: d = ref_logp - logp.",
            "KL 项里两个策略弄反了：d = ref_logp - logp。",
        )


def _of_loss(name: str) -> Iterator[Mistake]:
    for rule, en, zh in _rules(RULES[name]):
        yield partial(oracle.loss, rule), en, zh
    if name in ("dapo_loss", "gspo_loss"):
        yield (
            partial(oracle.loss, replace(RULES[name], symmetric=True)),
            "It clips upwards at 1 + clip_low; the upper limit is 1 + clip_high.",
            "向上在 1 + clip_low 处截断；上限应为 1 + clip_high。",
        )


_OTHERS: Mapping[str, tuple[Mistake, ...]] = {
    "group_advantages": (
        (
            partial(oracle.group_advantages, population=True),
            "The deviation was divided by n; it is that of a sample, by n - 1.",
            "标准差除以了 n；应为样本标准差，除以 n - 1。",
        ),
        (
            partial(oracle.group_advantages, whole=True),
            "The mean is over the whole batch; each group has its own.",
            "平均取的是整个批次；每个组有自己的平均。",
        ),
        (
            partial(oracle.group_advantages, flip=True),
            "It divides by the deviation exactly when `normalize` says not to.",
            "是否除以标准差与 `normalize` 所说正好相反。",
        ),
    ),
    "gae": (
        (
            partial(oracle.gae, beyond=True),
            "Behind the last token of a sequence there is no value: what stands in the padding is not one.",
            "序列最后一个 token 之后没有价值：填充里的数不是价值。",
        ),
        (
            partial(oracle.gae, reward_to_go=True),
            "The returns are the advantages plus the values.",
            "回报等于优势加上价值。",
        ),
    ),
    "aggregate": (
        (
            partial(oracle.aggregate, local=True),
            "The mean is over this micro-batch alone; divide by `total`, which counts the whole batch.",
            "平均只取了这个微批次；应除以 `total`，它是整个批次的计数。",
        ),
        (
            partial(oracle.aggregate, padded=True),
            "Padding is counted; only tokens where the mask is true are the policy's.",
            "把填充也算进去了；只有 mask 为真的 token 才属于策略。",
        ),
    ),
    "opd_loss": (
        (
            partial(oracle.opd_loss, forward=True),
            "That is KL(teacher, policy); on-policy distillation takes KL(policy, teacher).",
            "那是 KL(teacher, policy)；在策略蒸馏取 KL(policy, teacher)。",
        ),
        (
            partial(oracle.opd_loss, sampled=True),
            "No gradient goes through the chances of the policy that weigh the log-ratios.",
            "梯度没有经过策略的概率，而对数比值正是由它加权的。",
        ),
        (
            partial(oracle.opd_loss, local=True),
            "The mean is over this micro-batch alone; divide by `total`, which counts the whole batch.",
            "平均只取了这个微批次；应除以 `total`，它是整个批次的计数。",
        ),
    ),
    "informative_groups": (),
}


_NAN = (
    (
        "There is NaN in it. Padding may hold anything: replace it (torch.where) before you compute, for a "
        "product with a mask keeps NaN. A group without deviation divides by 0 + 1e-6."
    ),
    (
        "结果中有 NaN。填充里可能是任何东西：应在计算之前替换（torch.where），因为与 mask 相乘会保留 NaN。"
        "没有差异的组应除以 0 + 1e-6。"
    ),
)
_DETACHED = (
    "The value is right, but no gradient reaches it: something on the way was detached.",
    "值是对的，但没有梯度到达：途中有东西被 detach 了。",
)


def of(
    function: str,
    given: Given,
    keywords: Keywords,
    expected: Answers,
    found: Answers,
    fits: "Callable[[torch.Tensor, torch.Tensor], bool]",
) -> Sentence | None:
    """What to say about a wrong answer; None if it is like none that is known."""
    import torch

    if any(bool(torch.isnan(found[name].double()).any()) for name in expected):
        return _NAN
    if "gradient" in expected and fits(found["value"], expected["value"]) and not found["gradient"].any():
        return _DETACHED
    mistakes = _of_loss(function) if function in RULES else _OTHERS[function]
    for mistake, en, zh in mistakes:
        guess = mistake(given, keywords)
        same = all(fits(found[name], guess[name]) for name in expected)
        differs = not all(fits(guess[name], expected[name]) for name in expected)
        if same and differs:
            return en, zh
    if all(bool(torch.allclose(found[n].double(), expected[n].double(), 1e-3, 1e-5)) for n in expected):
        return (
            "It is right to about the precision of float32: keep the type of the arguments, float64.",
            "只精确到大约 float32：请保持参数的类型 float64。",
        )
    return None
