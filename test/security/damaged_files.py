"""Damaged copies of a data directory: flipped bits, truncated files, zeroed and exchanged blocks. The same seed and number give the same
copy of the same directory."""
import random
import shutil
from pathlib import Path

UNIT = 512  # bytes; blocks of tables begin at multiples of it
KINDS = ("flip", "flip", "flip", "flip", "flip", "truncate", "exchange", "zero")


def weight(path):
    """How often a file is chosen: tables of collections and indexes most of all, but every file now and then."""
    name = path.name
    if name.startswith(("collection-", "index-")):
        return 6
    if name in ("_mdb_catalog.wt", "_mdb_catalog_local.wt", "sizeStorer.wt", "WiredTiger.wt", "WiredTiger.turtle") or "journal" in path.parts:
        return 3
    return 1


def used_bytes(content):
    """Where zeros begin that reach to the end: log files are filled with zeros, in which nothing is lost."""
    return max(1, len(content.rstrip(b"\0")))


def damage(kind, content, chance):
    """The content with one damage, and its description. Never the same content."""
    end = used_bytes(content)
    at = chance.randrange(end)
    if kind == "truncate":
        return content[:at], f"truncated to {at} bytes"
    blocks = end // UNIT
    size = UNIT * chance.choice((1, 1, 8, 56))
    if kind in ("exchange", "zero") and end > 2 * size:
        first = UNIT * chance.randrange(blocks - size // UNIT + 1)
        if kind == "zero" and any(content[first:first + size]):
            return content[:first] + bytes(size) + content[first + size:], f"{size} bytes zeroed at {first}"
        second = UNIT * chance.randrange(blocks - size // UNIT + 1)
        low, high = sorted((first, second))
        if kind == "exchange" and high - low >= size and content[low:low + size] != content[high:high + size]:
            changed = (content[:low] + content[high:high + size] + content[low + size:high] + content[low:low + size]
                       + content[high + size:])
            return changed, f"{size} bytes exchanged between {low} and {high}"
    bit = chance.randrange(8)
    return content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1:], f"bit {bit} of byte {at} flipped"


def make_copy(original, target, seed, number):
    """Copies a data directory and damages one of its files; says which, and how."""
    chance = random.Random(f"{seed}/{number}")
    shutil.copytree(original, target)
    files = sorted(path for path in Path(target).rglob("*") if path.is_file() and path.stat().st_size > 0
                   and path.name not in ("troupe.lock", "WiredTiger.lock"))
    chosen = chance.choices(files, [weight(path.relative_to(target)) for path in files])[0]
    changed, what = damage(chance.choice(KINDS), chosen.read_bytes(), chance)
    chosen.write_bytes(changed)
    return f"{chosen.relative_to(target)}: {what}"
