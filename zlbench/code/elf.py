"""Sections of a 64-bit little-endian ELF file, and the identity of the machine code in it."""

from __future__ import annotations

import hashlib
import struct
from typing import Literal

from zlbench.errors import ZlbenchError

BinaryKind = Literal["cubin", "hsaco"]

_HEADER_SIZE = 64
_SECTION_SIZE = 64
_NOBITS = 8


class ElfError(ZlbenchError):
    """Bytes that are not the ELF file they should be."""

    def __init__(self, message: str, *, hint: str = "", marker: str = "CODE_UNREADABLE") -> None:
        super().__init__(message, hint=hint, marker=marker)


def sections(data: bytes) -> dict[str, bytes]:
    """Section name to content; sections without content in the file (`.bss`) are empty.

    A name that occurs twice keeps its first section; the others get `#1`, `#2`, … behind it.

    Raises:
        ElfError: cut off, or not a 64-bit little-endian ELF file.
    """
    headers, names_index = _section_headers(data)
    if not headers:
        return {}
    if names_index >= len(headers):
        raise ElfError("ELF file without section names")
    names = _content(data, headers[names_index])
    found: dict[str, bytes] = {}
    for header in headers:
        name = _string(names, header[0])
        key, repeat = name, 0
        while key in found:
            repeat += 1
            key = f"{name}#{repeat}"
        found[key] = _content(data, header)
    return found


def code_identity(binary: bytes, kind: BinaryKind) -> str:
    """SHA-256 (hex) over the executable sections: of the instructions alone, whatever the debug info says.

    For a cubin the section names count too (`.text.<kernel>`: equal code under two names is two kernels); a
    code object has one `.text` for all, whose content is hashed alone.

    Raises:
        ElfError: not an ELF file, or one without code.
    """
    code = {name: content for name, content in sections(binary).items() if name.startswith(".text")}
    if not any(code.values()):
        raise ElfError(f"no machine code in this {kind}")
    digest = hashlib.sha256()
    for name, content in sorted(code.items()):
        label = name if kind == "cubin" else ""
        digest.update(f"{label}\0{len(content)}\0".encode("utf-8", "surrogateescape"))
        digest.update(content)
    return digest.hexdigest()


# name offset, type, flags, address, offset, size, link, info, alignment, entry size
_Section = tuple[int, int, int, int, int, int, int, int, int, int]


def _section_headers(data: bytes) -> tuple[list[_Section], int]:
    if not data.startswith(b"\x7fELF"):
        raise ElfError("not an ELF file" if data else "empty file, not an ELF file")
    if len(data) < _HEADER_SIZE:
        raise ElfError(_CUT)
    if data[4:6] != b"\x02\x01":
        raise ElfError("not a 64-bit little-endian ELF file")
    (offset,) = struct.unpack_from("<Q", data, 0x28)
    entry_size, number, names_index = struct.unpack_from("<HHH", data, 0x3A)
    if number == 0:
        return [], 0
    if entry_size < _SECTION_SIZE or offset + entry_size * number > len(data):
        raise ElfError(_CUT)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + entry_size * at) for at in range(number)]
    return headers, names_index


_CUT = "ELF file cut off"


def _content(data: bytes, header: _Section) -> bytes:
    _, kind, _, _, offset, size, *_ = header
    if kind == _NOBITS or size == 0:
        return b""
    if offset + size > len(data):
        raise ElfError(_CUT)
    return data[offset : offset + size]


def _string(table: bytes, offset: int) -> str:
    end = table.find(b"\0", offset)
    if offset > len(table) or end < 0:
        raise ElfError("ELF file with a broken table of names")
    return table[offset:end].decode("utf-8", "surrogateescape")
