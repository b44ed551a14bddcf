"""A new dialogue of one exchange: a plan that is priced."""

from collections.abc import Mapping

FILES: Mapping[str, str] = {
    "assignments/@ID@/assignment.toml": """\
id = "@ID@"
topics = ["@TOPIC@"]
weight = 1.0

[title]
en = "@SLUG@: balance a load"
zh = "@SLUG@：负载均衡"

[[parts]]
name = "plan"
kind = "dialogue"
languages = ["python"]

[[targets]]
hardware = "cpu"
primary = true

[points]
correctness = 0.4
performance = 0.6

[[cases]]
id = "few"
part = "plan"
role = "test"
params = { jobs = 5, machines = 2 }

[[cases]]
id = "one-machine"
part = "plan"
role = "test"
params = { jobs = 7, machines = 1 }

[[cases]]
id = "many"
part = "plan"
role = "timed"
params = { jobs = 200, machines = 8 }
""",
    "assignments/@ID@/hidden/cases.toml": """\
[[cases]]
id = "drawn"
part = "plan"
role = "test"
params = { jobs = { range = [1, 60] }, machines = { range = [1, 9] } }
""",
    "assignments/@ID@/task.py": '''\
"""Jobs are given to machines; the price is the load of the busiest one. Replace it by your own."""

import itertools
from collections.abc import Sequence
from random import Random

from grader.task import Candidate, Case, DialogueTask, Json, Outcome, Raised

Sentences = tuple[str, str]


def episode(case: Case, candidate: Candidate, seed: int) -> Outcome:
    """One exchange: seconds of the jobs and the number of machines, for each job its machine."""
    random = Random(seed)
    seconds = [random.randrange(1, 100) for _ in range(case.params["jobs"])]
    machines = case.params["machines"]
    reply = candidate.ask("plan", {"seconds": list(seconds), "machines": machines})
    if isinstance(reply, Raised):
        what = f"{reply.kind}: {reply.text}"
        return Outcome(False, f"plan raised {what}", f"plan 抛出了 {what}")
    fault = malformed(reply, len(seconds), machines)
    if fault is not None:
        return Outcome(False, *fault)
    assert isinstance(reply, list)
    plan = [machine for machine in reply if isinstance(machine, int)]
    return Outcome(
        True,
        value=float(max(loads(seconds, plan, machines))),
        bound=float(bound(seconds, machines)),
        bound_by="load",
        quantity="makespan",
        unit="s",
    )


def malformed(reply: Json, jobs: int, machines: int) -> Sentences | None:
    """What is wrong with an answer, None if nothing is."""
    if not isinstance(reply, list) or len(reply) != jobs:
        return f"A list of {jobs} machines is needed.", f"需要一个含 {jobs} 台机器的列表，每个作业一台。"
    for job, machine in enumerate(reply):
        if not isinstance(machine, int) or isinstance(machine, bool) or not 0 <= machine < machines:
            return (
                f"Job {job} is on machine {machine!r}; there are 0 to {machines - 1}.",
                f"作业 {job} 在机器 {machine!r} 上；机器编号为 0 到 {machines - 1}。",
            )
    return None


def bound(seconds: list[int], machines: int) -> int:
    """No plan is shorter than the longest job, or than an even share."""
    return max(*seconds, -(-sum(seconds) // machines)) if len(seconds) > 1 else seconds[0]


def loads(seconds: Sequence[int], plan: Sequence[int], machines: int) -> list[int]:
    """Seconds of work of each machine."""
    return [sum(s for s, mine in zip(seconds, plan, strict=True) if mine == one) for one in range(machines)]


def every_plan(seed: int) -> Outcome:
    """The best plan of a tiny question, by trying all of them: `solmark check` holds the bound against it."""
    random = Random(seed)
    seconds = [random.randrange(1, 10) for _ in range(random.randrange(1, 6))]
    machines = random.randrange(1, 4)
    plans = itertools.product(range(machines), repeat=len(seconds))
    best = min(max(loads(seconds, plan, machines)) for plan in plans)
    return Outcome(True, value=float(best), bound=float(bound(seconds, machines)), unit="s")


PARTS = {"plan": DialogueTask(episode=episode, brute_force=every_plan)}
''',
    "assignments/@ID@/README.md": """\
# Balance a load

Write `plan(seconds, machines)`: it returns, for each job, the number of its machine, from 0 up. The price is
the load of the busiest machine.

## Bound

No plan is shorter than the longest job, nor than the sum over the number of machines.

## Common mistakes

- A job without a machine, or a machine that does not exist.
""",
    "assignments/@ID@/README.zh.md": """\
# 负载均衡

编写 `plan(seconds, machines)`：为每个作业返回其机器编号，从 0 开始。代价是最忙的机器的负载。

## 下界

任何方案都不短于最长的作业，也不短于总时间除以机器数。

## 常见错误

- 有作业没有分配机器，或使用了不存在的机器。
""",
    "assignments/@ID@/starter/solution.py": '''\
"""Hand in with: solmark grade @ID@ solution.py"""


def plan(seconds: list[int], machines: int) -> list[int]:
    """For each job the number of its machine, from 0 to machines - 1."""
    return []  # Your work begins here.
''',
    "reference/@ID@/solution.py": """\
# solmark: verdict=accepted


def plan(seconds, machines):
    load = [0] * machines
    where = [0] * len(seconds)
    for job in sorted(range(len(seconds)), key=lambda job: -seconds[job]):
        machine = load.index(min(load))
        where[job] = machine
        load[machine] += seconds[job]
    return where
""",
    "reference/@ID@/naive.py": """\
# solmark: verdict=accepted


def plan(seconds, machines):
    return [job % machines for job in range(len(seconds))]""",
    "reference/@ID@/wrong/counts_from_one.py": """\
# solmark: verdict=wrong_answer
# Numbers the machines from 1.


def plan(seconds, machines):
    return [job % machines + 1 for job in range(len(seconds))]""",
    "reference/@ID@/wrong/forgets_a_job.py": """\
# solmark: verdict=wrong_answer
# Leaves out the last job.


def plan(seconds, machines):
    return [job % machines for job in range(len(seconds) - 1)]""",
    "reference/@ID@/wrong/lists_of_jobs.py": """\
# solmark: verdict=wrong_answer
# Returns the jobs of each machine.


def plan(seconds, machines):
    return [list(range(start, len(seconds), machines)) for start in range(machines)]""",
    "reference/@ID@/wrong/returns_a_set.py": """\
# solmark: verdict=wrong_answer
# Returns a set.


def plan(seconds, machines):
    return {0}""",
    "reference/@ID@/wrong/raises.py": """\
# solmark: verdict=wrong_answer
# Divides by zero on one machine.


def plan(seconds, machines):
    return [job % (machines // (machines - 1)) for job in range(len(seconds))]""",
    "reference/@ID@/wrong/other_arguments.py": """\
# solmark: verdict=runtime_error
# Takes other arguments.


def plan(jobs):
    return [0] * len(jobs)
""",
    "reference/@ID@/wrong/cheat_negative_machine.py": """\
# solmark: verdict=wrong_answer
# Cheat: puts work on machine -1.


def plan(seconds, machines):
    return [-1] * len(seconds)""",
    "reference/@ID@/wrong/cheat_true_is_one.py": """\
# solmark: verdict=wrong_answer
# Cheat: answers with booleans.


def plan(seconds, machines):
    return [True] * len(seconds)""",
}
