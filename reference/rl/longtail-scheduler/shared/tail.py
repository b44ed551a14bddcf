"""Tail batching: short prompts first, the long ones together at the end; longest first within a step."""


class Scheduler:
    """Takes more prompts into a step than it trains, starts rollouts longest first where memory will hold them."""

    more = 0.3
    """Prompts beyond the batch that a step begins with."""
    trust = 0.6
    """Share of a rollout's expected tokens that memory is kept for."""

    def __init__(self, epoch):
        self.epoch = epoch
        self.group = epoch["group"]
        self.left = set(range(len(epoch["expected"])))

    def begin(self, step):
        """Choose the prompts of a step and the order of their rollouts."""
        expected, batch = self.epoch["expected"], self.epoch["batch"]
        ranked = sorted(self.left, key=lambda prompt: expected[prompt])
        spare = int(batch * self.more) if step + 1 < self.epoch["steps"] else 0
        chosen, beyond = ranked[:batch], ranked[batch : batch + spare]
        self.open = {prompt: self.group for prompt in chosen + beyond}
        self.done, self.engine = {}, {}
        order = sorted(chosen, key=lambda prompt: -expected[prompt]) + beyond
        self.queue = [prompt * self.group + k for prompt in order for k in range(self.group)]

    def on_event(self, state):
        if state["event"] == "step":
            self.begin(state["step"])
        self.look(state)
        for rollout in state["finished"]:
            self.open[rollout // self.group] -= 1
        full = [prompt for prompt, count in self.open.items() if count == 0]
        if len(full) >= self.epoch["batch"]:
            return self.train(full)
        self.queue = state["preempted"] + self.queue
        return self.fill(state)

    def look(self, state):
        """Keep how many tokens every rollout has: those of one engine grow alike, and one that was preempted
        since the last event has grown with them."""
        for number, engine in enumerate(state["engines"]):
            grown = max((done - self.done.get(rollout, done) for rollout, done in engine), default=0)
            gone = [rollout for rollout in state["preempted"] if self.engine.get(rollout) == number]
            self.done |= {rollout: self.done.get(rollout, 0) + grown for rollout in gone}
            self.done |= dict(engine)
            self.engine |= {rollout: number for rollout, _ in engine}

    def train(self, full):
        """Of the finished prompts the longest: they would cost most in a later step."""
        full.sort(key=lambda prompt: -self.epoch["expected"][prompt])
        prompts = full[: self.epoch["batch"]]
        self.left -= set(prompts)
        return [{"kind": "train", "prompts": prompts}]

    def fill(self, state):
        """Start what fits, on the engine with the most memory left."""
        slots, capacity = self.epoch["slots"], self.epoch["kv_tokens"]
        count = [len(engine) for engine in state["engines"]]
        for _, engine in state["moving"]:
            count[engine] += 1
        load = [sum(self.memory(rollout, done) for rollout, done in engine) for engine in state["engines"]]
        actions = []
        while self.queue:
            free = [engine for engine in range(len(count)) if count[engine] < slots]
            if not free:
                break
            engine = min(free, key=lambda engine: load[engine])
            rollout = self.queue[0]
            # One that was preempted comes back with all its tokens: as small as when it was new, it would be
            # started where it does not fit, again and again.
            need = self.memory(rollout, self.done.get(rollout, 0))
            if count[engine] and load[engine] + need > capacity:
                break
            self.queue.pop(0)
            count[engine] += 1
            load[engine] += need
            actions.append({"kind": "start", "rollout": rollout, "engine": engine})
        return actions

    def memory(self, rollout, done):
        """Tokens that a rollout is likely to hold before it ends."""
        prompt = rollout // self.group
        rest = max(self.epoch["expected"][prompt] - done, 0.3 * done)
        return self.epoch["prompt_tokens"][prompt] + done + self.trust * rest
