"""What a kernel's machine code does in its innermost loop, read from the text of `cuobjdump -sass`."""

import collections
import re

LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)\s*(.*?);")
KINDS = {
    "wgmma": r"[HIQ]GMMA",
    "mma": r"[HIDQ]MMA",
    "cp.async": r"LDGSTS",
    "tma": r"UTMALDG|UBLKCP",
    "barriers": r"BAR\.|WARPSYNC\.COLL",
    "spills": r"(LDL|STL)\b",
    "shared": r"(LDS|STS|LDSM|STSM|ATOMS)\b",
    "global": r"(LDG|STG|LD|ST|RED|ATOM|ATOMG)\b",
}


def instructions(text):
    """[(address, opcode, operands)] of the first function."""
    found = []
    for line in text.splitlines():
        if match := LINE.match(line):
            address = int(match[1], 16)
            if found and address <= found[-1][0]:
                break
            found.append((address, match[2], match[3]))
    return found


def products(opcode):
    """Multiplications and additions of a tensor core's instruction for each warp, of 16-bit operands that take as long."""
    if shape := re.search(r"GMMA\.(\d+)x(\d+)x(\d+)", opcode):
        work = int(shape[1]) * int(shape[2]) * int(shape[3]) // 4
    elif shape := re.search(r"MMA\.(16|8)(8)(\d+)", opcode):
        work = int(shape[1]) * int(shape[2]) * int(shape[3])
    else:
        return 0
    return work * 2 if "TF32" in opcode else work // 2 if opcode[0] in "IQ" else work


def width(opcode):
    """Bytes that one thread's access moves."""
    size = re.search(r"\.[US]?(8|16|64|128)\b", opcode)
    return int(size[1]) // 8 if size else 4


def counts(code):
    kinds = collections.Counter()
    for _, opcode, _ in code:
        kinds.update(name for name, word in KINDS.items() if re.match(word, opcode))
    accesses = [width(opcode) for _, opcode, _ in code if re.match(KINDS["global"], opcode)]
    return {
        "instructions": len(code),
        "products": sum(products(opcode) for _, opcode, _ in code),
        "bytes an access": round(sum(accesses) / len(accesses), 1) if accesses else 0,
        **{name: kinds[name] for name in KINDS},
    }


def loops_of(code):
    """[(begin, end)], places in the code."""
    place = {address: i for i, (address, *_) in enumerate(code)}
    loops = []
    for i, (address, opcode, operands) in enumerate(code):
        target = re.search(r"0x([0-9a-f]+)", operands) if opcode.startswith("BRA") else None
        begin = place.get(int(target[1], 16)) if target else None
        if begin is not None and begin < i:
            loops.append((begin, i + 1))
    # a wait behind a loop that jumps back into it makes no loop
    return [b for b in loops if not any(a[0] < b[0] < a[1] < b[1] for a in loops)]


def weighted(code):
    """Instructions, as if each loop ran eight times, three loops deep at most."""
    loops = loops_of(code)
    return sum(8 ** min(3, sum(begin <= i < end for begin, end in loops)) for i in range(len(code)))


def loads_under_way(code):
    """The most loads of global memory that begin before one is used."""
    most, waiting, count = 0, set(), 0
    for _, opcode, operands in code:
        registers = [int(r) for r in re.findall(r"\bR(\d+)\b", operands)]
        loads = re.match(r"LDG?\b", opcode) and registers
        if waiting & set(registers[1:] if loads else registers):
            waiting, count = set(), 0
        if loads:
            waiting |= set(range(registers[0], registers[0] + max(1, width(opcode) // 4)))
            count += 1
            most = max(most, count)
    return most


def hot_loop(code):
    """The code of the innermost loop that multiplies most, or, where none multiplies, of the longest that reads or writes memory;
    of a kernel without one, all of it."""
    loops = loops_of(code)
    does = {loop: counts(code[slice(*loop)]) for loop in loops}
    for work in ("products", "global", "shared"):
        busy = [loop for loop in loops if does[loop][work]]
        inner = [a for a in busy if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in busy)]
        if inner:
            longer = -1 if work == "products" else 1
            return code[slice(*max(inner, key=lambda loop: (does[loop][work], longer * (loop[1] - loop[0]))))]
    return code
