# solmark: verdict=accepted
# One operation after the other, one iteration after the other, all in one warpgroup.


def schedule(ops, edges, machine, iterations):
    done, at, plan = set(), 0, {}
    by = {op["name"]: op for op in ops}
    while len(done) < len(by):
        for name, op in by.items():
            if name not in done and all(e["from"] in done or e["distance"] for e in edges if e["to"] == name):
                plan[name] = {"start": at, "warpgroup": 0, "buffers": 1}
                at += op["latency"]
                done.add(name)
    return {"interval": at, "ops": plan, "barriers": []}
