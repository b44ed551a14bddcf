# solmark: verdict=accepted
# One operation after the other, one iteration after the other, all in one warpgroup.


def schedule(ops, edges, machine, iterations):
    done, at, plan = set(), 0, []
    while len(done) < len(ops):
        for op in ops:
            name = op["name"]
            needs = [e["from"] for e in edges if e["to"] == name and not e["distance"]]
            if name not in done and done.issuperset(needs):
                plan.append({"name": name, "start": at, "warpgroup": 0, "buffers": 1})
                at += op["latency"]
                done.add(name)
    return {"interval": at, "ops": plan, "barriers": []}
