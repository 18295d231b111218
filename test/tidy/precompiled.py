"""Headers include the standard headers they use, although the rooms' precompiled headers would hide it if they did not."""
import re

from sources import bare_code

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.M)

# What of each precompiled header is used by name. One of several headers may bring a name.
_NAMES = {
    r"(sort|stable_sort|find_if|any_of|all_of|none_of|lower_bound|upper_bound|count_if|remove_if|transform|equal|clamp)\s*\(": ("algorithm",),
    r"(min|max)\s*[(<]": ("algorithm",),
    r"atomic\w*\s*<|memory_order\w*": ("atomic",),
    r"chrono\b": ("chrono",),
    r"coroutine_handle|suspend_(always|never)": ("coroutine",),
    r"deque\s*<": ("deque",),
    r"function\s*<|hash\s*<|less\s*<": ("functional", "string", "string_view"),
    r"(multi)?map\s*<": ("map",),
    r"(unique|shared|weak)_ptr\s*<|make_(unique|shared)\s*<": ("memory",),
    r"mutex\b|lock_guard\b|unique_lock\b|scoped_lock\b|once_flag\b": ("mutex", "shared_mutex"),
    r"optional\s*<|nullopt\b": ("optional",),
    r"(multi)?set\s*<": ("set",),
    r"span\s*<": ("span",),
    r"(runtime|logic|invalid|range)_\w*error|invalid_argument|out_of_range": ("stdexcept",),
    r"string\b|to_string\s*\(": ("string",),
    r"string_view\b": ("string_view", "string"),
    r"unordered_(multi)?map\s*<": ("unordered_map",),
    r"(move|exchange|forward)\s*[(<]|pair\s*<|index_sequence": ("utility", "memory", "string", "vector", "map", "functional",
                                                               "optional", "variant", "algorithm", "deque", "set",
                                                               "unordered_map", "tuple", "array"),
    r"variant\s*<|monostate\b|visit\s*\(|get_if\s*<": ("variant",),
    r"vector\s*<": ("vector",),
}
_USES = [(re.compile(r"\bstd::(" + names + ")"), headers) for names, headers in _NAMES.items()]


def _reached(path, includes, known):
    """Every header that the one at `path` includes, itself or through the project's others."""
    if path not in known:
        known[path] = set()
        for target in includes.get(path, ()):
            known[path] |= {target} | _reached(target, includes, known)
    return known[path]


def precompiled_headers(sources):
    """A header includes what it uses of the standard library."""
    includes = {s.path: _INCLUDE.findall(s.text) for s in sources if s.is_cpp}
    known = {}
    for source in sources:
        if source.suffix != ".hpp":
            continue
        reached = _reached(source.path, includes, known)
        if any("/" in target and target not in includes for target in reached):
            reached = reached | _BROUGHT_BY_LIBRARIES
        code = bare_code(source.text)
        for use, headers in _USES:
            found = use.search(code)
            if found and not reached.intersection(headers):
                yield source.path, code.count("\n", 0, found.start()) + 1, f"uses {found.group().strip(' (<')} and does not include <{headers[0]}>"


# A library's header (or a schema's) may bring these; whether it does is left to the compiler.
_BROUGHT_BY_LIBRARIES = frozenset({"memory", "string", "utility"})
