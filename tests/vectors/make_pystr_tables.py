"""Writes codecs/gguf/pystr_tables.c: what Python's str methods know about characters.

Run with the reference environment's Python (3.11, Unicode 14): make_pystr_tables.py > codecs/gguf/pystr_tables.c
"""
import unicodedata

ALL = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def cased(c):  # the property that str.title() looks at
    return (chr(c) + "A").title()[-1] == "a"


def ignorable(c):  # the property that decides about a final sigma
    return ("A" + chr(c) + "\u03a3").lower()[-1] == "\u03c2" and (" " + chr(c) + "\u03a3").lower()[-1] != "\u03c2"


def ranges(test):
    out = []
    for c in ALL:
        if test(c):
            if out and out[-1][1] == c - 1:
                out[-1][1] = c
            else:
                out.append([c, c])
    return out


def print_ranges(name, test):
    print(f"static const struct range {name}[] = {{")
    line = "   "
    for lo, hi in ranges(test):
        item = f" {{ 0x{lo:x}, 0x{hi:x} }},"
        if len(line) + len(item) > 118:
            print(line)
            line = "   "
        line += item
    print(line + "\n};\n")


def print_map(name, convert):
    runs, full = [], []
    for c in ALL:
        to = convert(chr(c))
        if len(to) > 1:
            full.append((c, to))
        elif to != chr(c):
            delta = ord(to) - c
            last = runs[-1] if runs else None
            if last and last[3] == delta and c - last[1] in (1, 2) and (last[0] == last[1] or c - last[1] == last[2]):
                last[2] = c - last[1]
                last[1] = c
            else:
                runs.append([c, c, 1, delta])
    print(f"static const struct run {name}_runs[] = {{")
    line = "   "
    for lo, hi, step, delta in runs:
        item = f" {{ 0x{lo:x}, 0x{hi:x}, {step}, {delta} }},"
        if len(line) + len(item) > 118:
            print(line)
            line = "   "
        line += item
    print(line + "\n};\n")
    print(f"static const struct full {name}_full[] = {{")
    line = "   "
    for c, to in full:
        item = f" {{ 0x{c:x}, {{ {', '.join(f'0x{ord(t):x}' for t in to)} }} }},"
        if len(line) + len(item) > 118:
            print(line)
            line = "   "
        line += item
    print(line + "\n};\n")


print("/* Made by tests/vectors/make_pystr_tables.py from Python 3.11 (Unicode %s). */" % unicodedata.unidata_version)
print('#include "pystr_tables.h"\n')
print_ranges("alpha", lambda c: chr(c).isalpha())
print_ranges("alnum", lambda c: chr(c).isalnum())
print_ranges("decimal", lambda c: chr(c).isdecimal())
print_ranges("lower", lambda c: chr(c).islower())
print_ranges("upper", lambda c: chr(c).isupper() or chr(c).istitle())
print_ranges("cased", cased)
print_ranges("ignorable", ignorable)
print_map("to_lower", str.lower)
print_map("to_upper", str.upper)
print_map("to_title", str.title)
print("#define RANGES(t) { t, sizeof t / sizeof *t }")
print("#define MAP(t) { t##_runs, sizeof t##_runs / sizeof *t##_runs, t##_full, sizeof t##_full / sizeof *t##_full }\n")
for name in ("alpha", "alnum", "decimal", "lower", "upper", "cased", "ignorable"):
    print(f"const struct wfs_char_ranges wfs_char_{name} = RANGES({name});")
for name in ("lower", "upper", "title"):
    print(f"const struct wfs_char_map wfs_char_to_{name} = MAP(to_{name});")
