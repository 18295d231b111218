"""Finds the functions of a C++ file with a scanner of braces: enough to measure them, not a parser."""
import re
from dataclasses import dataclass

from sources import bare_code

_SCOPE = re.compile(r'\b(namespace|class|struct|union|enum|extern\s*"")\b')
_IGNORED_CALLS = re.compile(r"\b(alignas|decltype|__attribute__|requires|explicit|noexcept)\s*\([^()]*\)|\[\[.*?\]\]")
_LAMBDA = re.compile(r"\]\s*(<[^{}]*>\s*)?(\([^{}]*\))?\s*(mutable|noexcept|->\s*[\w:<>,*& ]+|\s)*$")


@dataclass
class _Block:
    kind: str       # "scope", "function" or "data"
    header: str     # the text before the brace
    line: int       # where the header starts
    fresh: bool     # nothing but white space since


def _kind(header, parent):
    if parent == "function":
        return "data"
    if _LAMBDA.search(header):
        return "function"
    if parent == "data":
        return "data"
    plain = _IGNORED_CALLS.sub(" ", header)
    # Template parameters and base classes hide no parentheses that matter here.
    if _SCOPE.search(plain) and not re.search(r"\)\s*(const|noexcept|override|final|&|\s)*$", plain):
        return "scope"
    if "(" in plain and plain.count("(") == plain.count(")") and not re.search(r"=\s*$", plain):
        return "function"
    return "data" if plain.strip() else "scope"


def functions(text):
    """(name-like header, first line, number of lines) of every function and of lambdas outside functions."""
    code = bare_code(text)
    stack, found = [], []
    header, header_line, line = "", 1, 1
    for at, char in enumerate(code):
        if char == "\n":
            line += 1
        parent = stack[-1].kind if stack else "scope"
        if char == "{":
            stack.append(_Block(_kind(header, parent), header, header_line, True))
            header = ""
        elif char == "}":
            if not stack:
                continue
            block = stack.pop()
            if block.kind == "function":
                found.append((" ".join(block.header.split())[-90:], block.line, line - block.line + 1))
            # `: a_{1}, b_{2} {`: the header of a constructor goes on after a member's braces.
            goes_on = re.match(r"\s*[,{]", code[at + 1:at + 200]) and block.kind != "scope"
            header, header_line = (block.header, block.line) if goes_on and "(" in block.header else ("", line)
            if goes_on and block.kind == "function" and found:
                found.pop()
        elif char == ";" and header.count("(") <= header.count(")"):
            header = ""
        elif not header and char.isspace():
            continue
        else:
            if not header:
                header_line = line
            header += char
    return found
