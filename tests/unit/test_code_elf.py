"""ELF sections and the identity of machine code."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.code.elf import ElfError, code_identity, sections


def elf(parts: list[tuple[str, bytes]], *, nobits: int = 0) -> bytes:
    """A 64-bit ELF file with these sections, and one of `nobits` bytes that are not in the file."""
    named = [("", b""), *parts, (".shstrtab", b"")]
    table = bytearray()
    offsets = []
    for name, _ in named:
        offsets.append(len(table))
        table += name.encode() + b"\0"
    named[-1] = (".shstrtab", bytes(table))
    body = bytearray(b"\0" * 64)
    headers = []
    for (name, content), offset in zip(named, offsets, strict=True):
        headers.append(struct.pack("<IIQQQQIIQQ", offset, 3 if name else 0, 0, 0, len(body), len(content), 0, 0, 1, 0))
        body += content
    if nobits:
        headers.append(struct.pack("<IIQQQQIIQQ", offsets[0], 8, 0, 0, 1 << 40, nobits, 0, 0, 1, 0))
    body[:16] = b"\x7fELF\x02\x01\x01\x33\x07" + b"\0" * 7
    struct.pack_into("<Q", body, 0x28, len(body))
    struct.pack_into("<HHH", body, 0x3A, 64, len(headers), len(named) - 1)
    return bytes(body) + b"".join(headers)


names = st.text(alphabet=".abcdefgh_", min_size=1, max_size=12).filter(lambda name: name != ".shstrtab")


@given(st.dictionaries(names, st.binary(max_size=40), max_size=5))
def test_sections_come_back_as_they_went_in(parts: dict[str, bytes]) -> None:
    found = sections(elf(list(parts.items())))
    assert {name: found[name] for name in parts} == parts


def test_sections_without_content_and_with_one_name() -> None:
    found = sections(elf([(".text", b"1"), (".text", b"2")], nobits=100))
    assert found[".text"] == b"1"
    assert found[".text#1"] == b"2"
    assert found["#1"] == b""


@given(st.binary(max_size=300))
def test_garbage_is_refused(data: bytes) -> None:
    with pytest.raises(ElfError):
        sections(b"\x7fELF\x02\x01" + data[:40])
    with pytest.raises(ElfError):
        code_identity(data, "cubin")


@given(st.data())
def test_a_damaged_file_is_refused_or_read_but_never_anything_else(data: st.DataObject) -> None:
    whole = bytearray(elf([(".text.k", b"abcd" * 8), (".debug_line", b"x" * 20)]))
    del whole[data.draw(st.integers(0, len(whole))) :]
    for _ in range(data.draw(st.integers(0, 4))):
        if whole:
            whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ElfError):
        sections(bytes(whole))


@given(st.binary(max_size=30), st.binary(max_size=30))
def test_identity_is_of_the_code_alone(debug: bytes, other: bytes) -> None:
    a, b = (elf([(".text.k", b"code"), (".debug_line", info)]) for info in (debug, other))
    assert code_identity(a, "cubin") == code_identity(b, "cubin")
    assert code_identity(a, "hsaco") == code_identity(b, "hsaco")


def test_identity_tells_code_kernels_and_their_cut_apart() -> None:
    files = [
        [(".text.k", b"code")],
        [(".text.k", b"c0de")],
        [(".text.other", b"code")],
        [(".text.k", b"co"), (".text.l", b"de")],
        [(".text.k", b"cod"), (".text.l", b"e")],
    ]
    assert len({code_identity(elf(parts), "cubin") for parts in files}) == len(files)


def test_the_order_of_sections_does_not_count() -> None:
    parts = [(".text.k", b"1"), (".text.l", b"2")]
    assert code_identity(elf(parts), "cubin") == code_identity(elf(parts[::-1]), "cubin")


@pytest.mark.parametrize("parts", [[], [(".data", b"x")], [(".text", b"")]])
def test_a_file_without_code_has_no_identity(parts: list[tuple[str, bytes]]) -> None:
    with pytest.raises(ElfError, match="no machine code in this hsaco"):
        code_identity(elf(parts), "hsaco")
