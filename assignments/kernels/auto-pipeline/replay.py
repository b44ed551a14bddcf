"""A plan, replayed in whole cycles: every operation of every iteration, in the order of its start.

A warpgroup waits at a barrier (x, y) before each y. Where y needs x, for the result; where x reads what y
writes, for the read of what lies in the buffer that y takes next; else for x of the same iteration.
"""

from collections.abc import Iterator, Sequence

from .model import Edge, Op, Problem, Sentences
from .plan import Plan

Instance = tuple[str, int]
"""An operation and its iteration."""


def replay(problem: Problem, plan: Plan) -> int | Sentences:
    """Cycles from the first start to the last result, or the first rule that is broken."""
    total = sum(op.bytes * plan.buffers[op.name] for op in problem.ops)
    if total > (most := problem.machine.shared_bytes):
        return (
            f"The plan is too large: its buffers take {total} bytes of {most}.",
            f"方案过大：缓冲区占用 {total} 字节，上限为 {most}。",
        )
    return _Replay(problem, plan).run()


class _Replay:
    """The state of the machine while the clock runs on."""

    def __init__(self, problem: Problem, plan: Plan) -> None:
        self.problem = problem
        self.plan = plan
        self.ops = {op.name: op for op in problem.ops}
        self.into = {name: [e for e in problem.edges if e.to == name] for name in self.ops}
        self.out_of = {name: [e for e in problem.edges if e.source == name] for name in self.ops}
        self.until: dict[str, tuple[int, Instance]] = {}
        """Each unit and warpgroup in use: until when, and by what."""
        self.order = sorted(
            (plan.start[name] + iteration * plan.interval, iteration, name)
            for iteration in range(problem.iterations)
            for name in self.ops
        )

    def run(self) -> int | Sentences:
        """Cycles, or what is wrong."""
        for at, iteration, name in self.order:
            fault = (
                self._taken(at, iteration, self.ops[name])
                or self._not_ready(at, iteration, name)
                or self._overwrites(at, iteration, self.ops[name])
                or self._waits(at, iteration, name)
            )
            if fault is not None:
                return fault
        return max(self._ready(name, iteration) for _, iteration, name in self.order) - self.order[0][0]

    def _start(self, name: str, iteration: int) -> int:
        return self.plan.start[name] + iteration * self.plan.interval

    def _ready(self, name: str, iteration: int) -> int:
        return self._start(name, iteration) + self.ops[name].latency

    def _read(self, name: str, iteration: int) -> int:
        """When an operation has read what it reads."""
        return self._start(name, iteration) + self.ops[name].busy

    def _apart(self, edge: Edge) -> bool:
        return self.plan.warpgroup[edge.source] != self.plan.warpgroup[edge.to]

    def _taken(self, at: int, iteration: int, op: Op) -> Sentences | None:
        """A unit does one thing at a time, and so does a warpgroup."""
        group = self.plan.warpgroup[op.name]
        for resource, kept in (
            (f"unit {op.unit}", op.busy),
            (f"warpgroup {group}", self.problem.machine.hold(op)),
        ):
            end, (other, its) = self.until.get(resource, (at, ("", 0)))
            if at < end:
                return (
                    (
                        f"{op.name} of iteration {iteration} starts at {at}, but {other} of iteration {its} "
                        f"holds {resource} until {end}."
                    ),
                    (
                        f"第 {iteration} 次迭代的 {op.name} 在 {at} 开始，但第 {its} 次迭代的 {other} 占用 "
                        f"{resource} 直到 {end}。"
                    ),
                )
            self.until[resource] = (at + kept, (op.name, iteration))
        return None

    def _not_ready(self, at: int, iteration: int, name: str) -> Sentences | None:
        """What is needed is there, within reach, and waited for."""
        for edge in self.into[name]:
            source, its = edge.source, iteration - edge.distance
            if its < 0:
                continue
            if at < (ready := self._ready(source, its)):
                return (
                    (
                        f"{name} of iteration {iteration} starts at {at}, but needs {source} of iteration "
                        f"{its}, which is ready at {ready}."
                    ),
                    (
                        f"第 {iteration} 次迭代的 {name} 在 {at} 开始，但它需要第 {its} 次迭代的 {source}，"
                        f"后者到 {ready} 才就绪。"
                    ),
                )
            if self._apart(edge) and not self.ops[source].bytes:
                return (
                    f"{name} reads {source} from registers, so both are of one warpgroup.",
                    f"{name} 从寄存器读取 {source}，两者必须属于同一个 warpgroup。",
                )
            if self._apart(edge) and (source, name) not in self.plan.barriers:
                return _missing(source, name)
        return None

    def _overwrites(self, at: int, iteration: int, op: Op) -> Sentences | None:
        """The buffer that is written next was read by all, and they said so."""
        old = iteration - self.plan.buffers[op.name]
        if not op.bytes or old < 0:
            return None
        readers = [e for e in self.out_of[op.name] if old + e.distance < self.problem.iterations]
        ends = [(self._read(e.to, old + e.distance), e.to) for e in readers]
        free, last = max([(self._ready(op.name, old), op.name), *ends])
        if at < free:
            return (
                (
                    f"{op.name} of iteration {iteration} starts at {at} and overwrites what {last} still "
                    f"uses until {free}: {self.plan.buffers[op.name]} buffers are too few."
                ),
                (
                    f"第 {iteration} 次迭代的 {op.name} 在 {at} 开始，会覆盖 {last} 用到 {free} 的内容："
                    f"{self.plan.buffers[op.name]} 个缓冲区不够。"
                ),
            )
        for edge in readers:
            if self._apart(edge) and (edge.to, op.name) not in self.plan.barriers:
                return _missing(edge.to, op.name)
        return None

    def _awaited(self, name: str, iteration: int) -> Iterator[tuple[str, int, int]]:
        """What an operation waits for at its barriers: operation, iteration, and the cycle of its arrival."""
        for one, other in sorted(self.plan.barriers):
            if other != name:
                continue
            full = [e.distance for e in self.into[name] if e.source == one]
            empty = [self.plan.buffers[name] - e.distance for e in self.out_of[name] if e.to == one]
            found = [(lag, self._ready) for lag in full] + [(lag, self._read) for lag in empty]
            for lag, arrival in found or [(0, self._ready)]:
                if 0 <= (its := iteration - lag) < self.problem.iterations:
                    yield one, its, arrival(one, its)

    def _waits(self, at: int, iteration: int, name: str) -> Sentences | None:
        """Every arrival that is waited for has come; one that waits in turn never comes."""
        for other, its, arrives in self._awaited(name, iteration):
            if arrives <= at:
                continue
            if (chain := self._chain((other, its), (name, iteration))) is not None:
                shown = " <- ".join(f"{step} ({number})" for step, number in [(name, iteration), *chain])
                return (
                    f"Deadlock: {shown}: each waits for the next, in these iterations.",
                    f"死锁：{shown}：每一个都在等待下一个（括号中为迭代）。",
                )
            return (
                (
                    f"{name} of iteration {iteration} is to start at {at}, but waits until {arrives} for "
                    f"{other} of iteration {its}."
                ),
                (
                    f"第 {iteration} 次迭代的 {name} 应在 {at} 开始，"
                    f"却要等第 {its} 次迭代的 {other} 到 {arrives}。"
                ),
            )
        return None

    def _chain(self, first: Instance, goal: Instance) -> Sequence[Instance] | None:
        """From one instance to another by what each waits for, None if there is no way."""
        before = self._before()
        ways: dict[Instance, list[Instance]] = {first: [first]}
        left = [first]
        while left:
            at = left.pop(0)
            if at == goal:
                return ways[at]
            name, iteration = at
            needs = [(e.source, iteration - e.distance) for e in self.into[name] if iteration >= e.distance]
            needs += [(other, its) for other, its, _ in self._awaited(name, iteration)]
            for following in [*needs, *before[at]]:
                if following not in ways:
                    ways[following] = [*ways[at], following]
                    left.append(following)
        return None

    def _before(self) -> dict[Instance, list[Instance]]:
        """What each instance's warpgroup issues just before it: it issues in order."""
        last: dict[int, Instance] = {}
        found: dict[Instance, list[Instance]] = {}
        for _, iteration, name in self.order:
            group = self.plan.warpgroup[name]
            found[name, iteration] = [last[group]] if group in last else []
            last[group] = (name, iteration)
        return found


def _missing(one: str, other: str) -> Sentences:
    return (
        f"{other} does not wait for {one} of another warpgroup: a barrier ({one}, {other}) is missing.",
        f"{other} 没有等待另一个 warpgroup 的 {one}：缺少屏障 ({one}, {other})。",
    )
