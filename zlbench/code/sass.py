"""Opcodes of many cubins with one run of nvdisasm for each architecture.

nvdisasm works for a quarter of a second before it reads its file, and for 15 us on each instruction. An
opcode depends on few of an instruction's 128 bits, so one representative of each pattern of these bits goes
into a raw image, which is disassembled once: 0.3 s for one kernel becomes 0.3 s for a thousand.
"""

from __future__ import annotations

import re
import struct
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zlbench.code.elf import ElfError, sections
from zlbench.code.model import CostsUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from zlbench.code.tools import Run
    from zlbench.process import Outcome

# Volta and later: opcode and operand form in bits 0 to 11, predicate, registers and immediates, modifiers in
# bits 72 to 104, scheduling. Compared with listings of whole files, this told every opcode of every kernel
# tried on sm_80, sm_90 and sm_100.
_INSTRUCTION = struct.Struct("<QQ")
_OPCODE = (1 << 12) - 1
_MODIFIERS = (1 << 33) - 1
_MODIFIERS_AT = 8

_SASS = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:\{\s*)?(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Image:
    """The code sections of one cubin, and its architecture (`90` for sm_90a)."""

    path: Path
    parts: tuple[bytes, ...]
    architecture: int


def read_image(path: Path) -> Image:
    """The code of one file.

    Raises:
        CostsUnavailableError: unreadable, not a cubin, or without code.
    """
    try:
        data = path.read_bytes()
        found = sections(data)
    except OSError as error:
        raise CostsUnavailableError(f"cannot read {path}: {error.strerror}") from error
    except ElfError as error:
        raise CostsUnavailableError(f"{path}: {error.message}") from error
    parts = tuple(content for name, content in found.items() if name.startswith(".text") and content)
    if not parts or any(len(part) % _INSTRUCTION.size for part in parts):
        raise CostsUnavailableError(f"{path}: no machine code of an NVIDIA card in it")
    return Image(path=path, parts=parts, architecture=_architecture(data))


def opcodes_together(images: Iterable[Image], nvdisasm: Path, run: Run) -> dict[Path, list[str]]:
    """Opcodes of each file, without modifiers and without the padding at the end of a section.

    A file with an opcode that the common image did not tell is missing: it has to be disassembled alone.
    """
    by_architecture: dict[int, list[Image]] = defaultdict(list)
    for image in images:
        by_architecture[image.architecture].append(image)
    found: dict[Path, list[str]] = {}
    for architecture, members in by_architecture.items():
        patterns = {image.path: [_patterns(part) for part in image.parts] for image in members}
        names = _names(patterns.values(), architecture, nvdisasm, run)
        for path, parts in patterns.items():
            codes = [name for part in parts for name in without_padding([names.get(key, "") for key, _ in part])]
            if codes and "" not in codes:
                found[path] = codes
    return found


def opcodes_alone(path: Path, nvdisasm: Path, run: Run) -> list[str]:
    """Opcodes of one file, as above.

    Raises:
        CostsUnavailableError: nvdisasm cannot read it.
    """
    done = run([str(nvdisasm), "-c", "-ndf", str(path)])
    codes = [opcode for _, opcode in parse_sass(done.stdout)]
    if done.returncode != 0 or not codes:
        raise CostsUnavailableError(f"nvdisasm cannot read {path}: {first_line(done)}")
    return without_padding(codes)


def parse_sass(text: str) -> list[tuple[int, str]]:
    """Address and opcode (without modifiers) of every instruction that nvdisasm printed."""
    return [(int(address, 16), opcode) for address, opcode in _SASS.findall(text)]


def without_padding(codes: Sequence[str]) -> list[str]:
    """The opcodes of one section without the NOPs at its end, which only fill it up to 128 bytes."""
    end = len(codes)
    while end and codes[end - 1] == "NOP":
        end -= 1
    return list(codes[:end])


def first_line(done: Outcome) -> str:
    """What a tool complained about, in one line."""
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[0] if lines else f"exit code {done.returncode}, no output"


def _patterns(part: bytes) -> list[tuple[int, tuple[int, int]]]:
    """The bits that tell the opcode, with the instruction itself, for every instruction."""
    return [
        ((low & _OPCODE) | (high >> _MODIFIERS_AT & _MODIFIERS) << 12, (low, high))
        for low, high in _INSTRUCTION.iter_unpack(part)
    ]


def _names(
    files: Iterable[Iterable[Iterable[tuple[int, tuple[int, int]]]]],
    architecture: int,
    nvdisasm: Path,
    run: Run,
) -> dict[int, str]:
    """Pattern to opcode, for every pattern that occurs."""
    representatives: dict[int, tuple[int, int]] = {}
    for parts in files:
        for part in parts:
            representatives |= part
    listing = dict(parse_sass(_disassemble_raw(representatives.values(), architecture, nvdisasm, run)))
    return {
        pattern: listing[index * _INSTRUCTION.size]
        for index, pattern in enumerate(representatives)
        if index * _INSTRUCTION.size in listing
    }


def _disassemble_raw(instructions: Iterable[tuple[int, int]], architecture: int, nvdisasm: Path, run: Run) -> str:
    with tempfile.NamedTemporaryFile(prefix="zlbench-", suffix=".bin") as raw:
        raw.write(b"".join(_INSTRUCTION.pack(*instruction) for instruction in instructions))
        raw.flush()
        # The name with `a` knows the accelerated instructions as well; not every architecture has one.
        for suffix in ("a", ""):
            done = run([str(nvdisasm), "-ndf", "-b", f"SM{architecture}{suffix}", raw.name])
            if done.returncode == 0:
                return done.stdout
    return ""


def _architecture(data: bytes) -> int:
    """The sm number in the ELF flags: lowest byte up to CUDA 12, second byte since ABI version 8."""
    (flags,) = struct.unpack_from("<I", data, 0x30)
    return int(flags >> 8 & 0xFF if data[8] >= 8 else flags & 0xFF)
