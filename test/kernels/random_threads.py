"""Draws programs of one thread each, and writes them in three forms: as a kernel that calls functions, as a kernel with
their bodies in place, and as a Python generator, which `expected` runs for every thread.

Threads branch, loop, return early and exchange words with threads of other warps and ranks wherever their own values
lead them. A program has phases, which end with a collective of the warp or the block.
"""

import random
import re

HEAD = """import tandem
import tandem.dist as dl
import tandem.language as tl
from tandem.simt import __ballot_sync, __shfl_sync_i32, __syncthreads, ld, st, tid


@tandem.jit
def exchange(words, flags, mine, count, T: tl.constexpr, TO: tl.constexpr):
    if count < TO:
        t = tid(0)
        to = t + 1
        peer = dl.rank()
        if to == T:
            to = 0
            peer = (peer + 1) % dl.num_ranks()
        st(dl.symm_at(words, peer) + to * SLOTS + count, mine, semantic="weak")
        st(dl.symm_at(flags, peer) + to * SLOTS + count, 1, scope="sys", semantic="release")
        while ld(flags + t * SLOTS + count, scope="sys", semantic="acquire") == 0:
            pass
        mine = (ld(words + t * SLOTS + count, semantic="weak") + mine) & 0xFFFF
        count += 1
    return mine, count


"""
PHASES, EXCHANGES = 3, 3
SLOTS = PHASES * EXCHANGES  # of a thread, a word for each exchange
VALUES = 8  # of a thread in memory
MUTABLE = ["a", "b", "c", "d"]


class Draw:
    """A program: functions that call those before them, and the phases of the kernel. A statement is a tuple, its kind
    first."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.loops = 0
        self.functions = []
        for _ in range(self.random.randint(1, 3)):
            self.functions.append(self.function())
        names = ["t", "n", *MUTABLE]
        self.phases = [self.block(names, 0, True) for _ in range(PHASES)]

    def expression(self, names, depth=0):
        draw = self.random
        if depth > 2 or draw.random() < 0.3:
            return draw.choice(names) if draw.random() < 0.8 else str(draw.randint(0, 40))
        a, b = self.expression(names, depth + 1), self.expression(names, depth + 1)
        operator = draw.choice(["+", "-", "*", "^", "&", "|", "//", "%", "<<", ">>"])
        if operator in ("//", "%", "<<", ">>"):
            return f"((({a} & 0xFFF) {operator} {draw.randint(1, 4)}) & 0xFFFF)"
        return f"(({a} & 0xFF) * ({b} & 0xFF))" if operator == "*" else f"(({a} {operator} {b}) & 0xFFFF)"

    def condition(self, names):
        compare = self.random.choice(["<", ">", "==", "!=", "<=", ">="])
        return f"{self.expression(names, 1)} {compare} {self.expression(names, 1)}"

    def block(self, names, depth, in_kernel=False):
        found = [self.statement(names, depth, in_kernel) for _ in range(self.random.randint(1, 4))]
        return [s for s in found if s] or [("assign", "a", self.expression(names))]

    def statement(self, names, depth, in_kernel):
        draw = self.random
        target = draw.choice([v for v in MUTABLE if v in names])
        inside = (depth + 1, in_kernel)
        kind = draw.choice(["assign", "if", "while", "for", "load", "store", "call", "call", "exchange"])
        if kind == "if" and depth < 3:
            return kind, self.condition(names), self.block(names, *inside), self.block(names, *inside)
        if kind in ("while", "for") and depth < 2:
            self.loops += 1
            index = f"i{self.loops}"
            body = self.block([*names, index], *inside)
            how = self.condition(names) if kind == "while" else self.expression(names, 1)
            return kind, index, draw.randint(2, 5), how, body
        if kind == "load":
            return kind, target, self.expression(names, 1)
        if kind == "store":
            return kind, self.expression(names, 1), self.expression(names, 1)
        if kind == "exchange" and in_kernel:
            return kind, target
        if kind == "call" and self.functions:
            function = draw.choice(self.functions)
            targets = draw.sample([v for v in MUTABLE if v in names], len(function["results"]))
            return kind, targets, function, [self.expression(names, 1) for _ in function["parameters"]]
        return "assign", target, self.expression(names)

    def function(self):
        """Its variables have names of the caller's, and it may return early."""
        parameters = ["c", "d", "p"][: self.random.randint(1, 3)]
        names = ["a", "b", *parameters]
        count = self.random.randint(1, 2)
        results = [self.expression(names) for _ in range(count)]
        made = {"name": f"f{len(self.functions)}", "parameters": parameters, "results": results, "early": []}
        made["begin"] = [("assign", v, self.expression(parameters)) for v in ("a", "b")]
        for _ in range(self.random.randint(0, 2)):
            early = [self.expression(names) for _ in range(count)]
            made["early"].append((self.block(names, 2), self.condition(names), early))
        made["end"] = self.block(names, 1)
        return made


class Writer:
    """Writes a program in one form. `names` are what its variables are called where a function's body is in place."""

    def __init__(self, form):
        self.form = form  # "functions", "in place" or "python"
        self.bodies = 0

    def named(self, text, names):
        return re.sub(r"\b[a-z]\w*\b", lambda found: names.get(found[0], found[0]), text)

    def block(self, body, names, limit):
        return [line for statement in body for line in self.statement(*statement, names=names, limit=limit)]

    def assign(self, target, value):
        return f"{target} = {value} + 0 * n"  # no constant: constants of compile time cannot be assigned in loops

    def statement(self, kind, first, *others, names, limit):
        def of(text):
            return self.named(text, names)

        def inside(body, names=names):
            return ["    " + line for line in self.block(body, names, limit)]

        is_python = self.form == "python"
        if kind == "assign":
            return [self.assign(of(first), of(others[0]))]
        if kind == "if":
            return [f"if {of(first)}:", *inside(others[0]), "else:", *inside(others[1])]
        if kind == "exchange":
            if is_python:
                return [f"if count < {limit}:", f"    {first} = ((yield count, {first}) + {first}) & 0xFFFF", "    count += 1"]
            return [f"{first}, count = exchange(words, flags, {first}, count, T, {limit})"]
        if kind in ("while", "for"):
            most, how, body = others
            index = first + names.get("", "")
            names = {**names, first: index}
            if kind == "for":
                return [f"for {index} in range({of(how)} % {most}):", *inside(body, names)]
            test = f"while ({index} < {most}) & ({self.named(how, names)}):"
            return [self.assign(index, "0"), test, *inside(body, names), f"    {index} += 1"]
        if kind == "load":
            place = f"t * {VALUES} + {of(others[0])} % {VALUES}"
            return [f"{of(first)} = memory[{place}]" if is_python else f'{of(first)} = ld(memory + {place}, semantic="weak")']
        if kind == "store":
            place, value = f"t * {VALUES} + {of(first)} % {VALUES}", of(others[0])
            return [f"memory[{place}] = {value}" if is_python else f'st(memory + {place}, {value}, semantic="weak")']
        function, given = others
        targets, given = [of(v) for v in first], [of(value) for value in given]
        if self.form != "in place":
            return [f"{', '.join(targets)} = {function['name']}({', '.join(['memory', 't', 'n', *given])})"]
        self.bodies += 1
        names = {v: f"{v}_{self.bodies}" for v in ["a", "b", *function["parameters"]]} | {"": f"_{self.bodies}"}
        results = [f"r{i}_{self.bodies}" for i in range(len(targets))]
        begin = [self.assign(names[v], value) for v, value in zip(function["parameters"], given, strict=True)]
        return [*begin, *self.in_place(function, names, results), *(f"{v} = {r}" for v, r in zip(targets, results, strict=True))]

    def in_place(self, function, names, results):
        def give(values):
            return [self.assign(r, self.named(value, names)) for r, value in zip(results, values, strict=True)]

        lines = self.block(function["end"], names, 0) + give(function["results"])
        for body, condition, early in reversed(function["early"]):
            test = [f"if {self.named(condition, names)}:", *("    " + line for line in give(early)), "else:"]
            lines = [*self.block(body, names, 0), *test, *("    " + line for line in lines)]
        return self.block(function["begin"], names, 0) + lines

    def function(self, made):
        lines = self.block(made["begin"], {}, 0)
        for body, condition, early in made["early"]:
            lines += [*self.block(body, {}, 0), f"if {condition}:", f"    return {', '.join(early)}"]
        lines += [*self.block(made["end"], {}, 0), f"return {', '.join(made['results'])}"]
        header = f"def {made['name']}({', '.join(['memory', 't', 'n', *made['parameters']])}):"
        return ["@tandem.jit"] * (self.form != "python") + [header, *("    " + line for line in lines), "", ""]

    def meeting(self, phase):
        """What ends a phase: a value of another lane, how many lanes have an odd one, a barrier of the block."""
        lane = "(t * 5 + 1) % 32"
        if self.form == "python":
            return [[f"a = yield 'lane', a, {lane}"], ["b = yield 'ballot', c & 1, 0"], ["yield 'block', 0, 0"]][phase % 3]
        ballot = "b = __ballot_sync(0xFFFFFFFF, (c & 1) != 0).to(tl.int32) & 0xFFFF"
        return [[f"a = __shfl_sync_i32(0xFFFFFFFF, a, {lane})"], [ballot], ["__syncthreads()"]][phase % 3]

    def text(self, program):
        is_python = self.form == "python"
        lines = [] if self.form == "in place" else [line for made in program.functions for line in self.function(made)]
        first = ["t = tid(0)", "rank = dl.rank()"] * (not is_python)
        first += [self.assign(v, value) for v, value in zip(MUTABLE, ["t + rank", "t * 7", "5", "t ^ 3"], strict=True)]
        body = [*first, "count = 0 * t"]
        for phase, block in enumerate(program.phases):
            limit = EXCHANGES * (phase + 1)
            rest = [f"while count < {limit}:", *("    " + line for line in self.block([("exchange", "a")], {}, limit))]
            body += self.block(block, {}, limit) + rest + self.meeting(phase)
        for i, v in enumerate(MUTABLE):
            place = f"out[t * 4 + {i}] = {v}" if is_python else f'st(out + t * 4 + {i}, {v}, semantic="weak")'
            body.append(place)
        header = "def kernel(memory, out, n, t, rank):"
        if not is_python:
            lines.append("@tandem.jit")
            header = "def kernel(memory, out, words, flags, n, T: tl.constexpr):"
        return "\n".join([*lines, header, *("    " + line for line in body)]) + "\n"


def source(program, form):
    return HEAD.replace("SLOTS", str(SLOTS)) * (form != "python") + Writer(form).text(program)


def expected(program, ranks, threads, memory, n):
    """Each rank's memory and results: the threads are generators, which go on when what they wait for is there."""
    space = {}
    exec(source(program, "python"), space)
    found = [(list(memory), [0] * (4 * threads)) for _ in range(ranks)]
    running = {(r, t): space["kernel"](*found[r], n, t, r) for r in range(ranks) for t in range(threads)}
    sent, asked = {}, {}

    def step(key, value=None):
        try:
            asked[key] = running[key].send(value)
        except StopIteration:
            del running[key], asked[key]
            return
        if len(asked[key]) == 2:
            rank, t = key
            to = (rank, t + 1) if t + 1 < threads else ((rank + 1) % ranks, 0)
            sent[to, asked[key][0]] = asked[key][1]

    for key in list(running):
        step(key)
    while running:
        for key in [k for k, a in asked.items() if len(a) == 2 and (k, a[0]) in sent]:
            step(key, sent[key, asked[key][0]])
        for rank in range(ranks):
            for first in range(0, threads, 32):
                warp = [(rank, t) for t in range(first, first + 32)]
                if not all(len(asked.get(key, ())) == 3 for key in warp):
                    continue
                kind = asked[warp[0]][0]
                if kind == "block":
                    continue
                values = [asked[key][1] for key in warp]
                bits = sum((value & 1) << i for i, value in enumerate(values)) & 0xFFFF
                answers = [values[asked[key][2]] if kind == "lane" else bits for key in warp]
                for key, answer in zip(warp, answers, strict=True):
                    step(key, answer)
            block = [(rank, t) for t in range(threads)]
            if all(asked.get(key, ("",))[0] == "block" for key in block):
                for key in block:
                    step(key)
    return found
