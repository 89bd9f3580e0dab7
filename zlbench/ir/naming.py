"""File names for the variants of one kernel in one row: short, safe, equal on both sides of a comparison."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

#: Most file systems take 255 bytes for a name; this leaves room for suffixes and numbers.
_LONGEST = 120
_UNSAFE = re.compile(r"[^A-Za-z0-9_.,=+\-]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantParams:
    """Everything that tells one compiled variant of a kernel from another.

    Args:
        constexprs: argument to compile-time value.
        signature: run-time argument to type, such as `*fp16` or `i32`.
        specialisation: run-time argument to what was assumed about its value, such as `div16` or `eq1`.
        options: other options of the back end.
    """

    constexprs: Mapping[str, object] = field(default_factory=dict)
    num_warps: int = 4
    num_stages: int = 3
    num_ctas: int = 1
    maxnreg: int | None = None
    signature: Mapping[str, str] = field(default_factory=dict)
    specialisation: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)

    def digest(self) -> str:
        """SHA-256 (hex) of all parameters: never Triton's own hash, which differs from build to build."""
        values = [
            *([name, _plain(getattr(self, name))] for name in ("constexprs", "signature", "specialisation")),
            *([name, getattr(self, name)] for name in ("num_warps", "num_stages", "num_ctas", "maxnreg")),
            ["options", _plain(self.options)],
        ]
        return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def variant_stems(group: Sequence[VariantParams]) -> list[str]:
    """One file stem for each variant of one kernel in one row.

    `BSM128_BSN64_w4s3__fp16__Mdiv16`: the constexprs and options that differ within the group, warps and
    stages always, then, only where names would still be equal, types, alignment, and a piece of a digest.
    Equal parameters give equal names whatever their order; a second variant with equal parameters gets `_2`.
    """
    short = short_names(group)
    stems = [_main(variant, group, short) for variant in group]
    for tie_breaker in (_types, _alignment, _digests):
        if len(set(stems)) < len(group):
            stems = _break_ties(stems, group, tie_breaker)
    return _numbered(_capped(stem, variant) for stem, variant in zip(stems, group, strict=True))


def short_names(group: Sequence[VariantParams]) -> dict[str, str]:
    """Constexpr or option name to its short form, for those that differ within the group.

    Words become initials (`BLOCK_SIZE_M` is `BSM`), a single word stays. Names whose initials collide are
    spelt out further, letter by letter, until they can be told apart.
    """
    names = [*_differing(group, _constexprs), *_differing(group, _options)]
    short: dict[str, str] = {}
    by_initials: dict[str, list[str]] = {}
    for name in names:
        by_initials.setdefault(_initials(name, 1).lower(), []).append(name)
    for rivals in by_initials.values():
        for name in rivals:
            letters = 1
            others = [other for other in names if other != name]
            while letters < len(name) and any(
                _initials(name, letters).lower() == _initials(other, letters).lower() for other in others
            ):
                letters += 1
            short[name] = _initials(name, letters)
    return _distinct(short)


def legend(groups: Mapping[str, Sequence[VariantParams]]) -> str:
    """Text of `naming.md`: what each part of each name stands for.

    Args:
        groups: folder below `ttgir/` (row and kernel) to its variants.
    """
    lines = [
        "# Names of the variants",
        "",
        "`<parameters>_w<warps>s<stages>[c<ctas>][r<registers>][__<types>][__<argument><alignment>][__<digest>]`",
        "",
        "A parameter is in a name only if it differs within its folder. Types, alignment and digest come in",
        "that order, where names would be equal without them.",
        "",
    ]
    for folder, group in sorted(groups.items()):
        lines += [f"## {folder}", ""]
        lines += [f"- `{short}` = `{name}`" for name, short in short_names(group).items() if short != name]
        common = _common(group)
        lines += ["- in all: " + ", ".join(f"`{name}={value}`" for name, value in common.items())] if common else []
        lines += [
            f"- `{stem}`: {_described(variant)}" for stem, variant in zip(variant_stems(group), group, strict=True)
        ]
        lines.append("")
    return "\n".join(lines)


def row_dirname(label: str) -> str:
    """A folder name for a row: readable, one path component for any label, another for another label."""
    name = _UNSAFE.sub("_", label.replace(", ", ",")).strip("._-")[:_LONGEST] or "row"
    # A piece of the label's digest where the readable part lost something of it.
    return name if name == label else f"{name[: _LONGEST - 9]}-{hashlib.sha256(_bytes(label)).hexdigest()[:8]}"


def _main(variant: VariantParams, group: Sequence[VariantParams], short: Mapping[str, str]) -> str:
    values = {**_constexprs(variant), **_options(variant)}
    parts = [f"{short[name]}{_safe(values[name])}" for name in short if name in values]
    tail = f"w{variant.num_warps}s{variant.num_stages}"
    if len({member.num_ctas for member in group}) > 1:
        tail += f"c{variant.num_ctas}"
    if len({member.maxnreg for member in group}) > 1:
        tail += f"r{variant.maxnreg if variant.maxnreg is not None else 'any'}"
    return "_".join([*parts, tail])


_TieBreaker = Callable[[Sequence[VariantParams]], list[str]]


def _break_ties(stems: Sequence[str], group: Sequence[VariantParams], tie_breaker: _TieBreaker) -> list[str]:
    """Lengthen only the names that occur more than once."""
    members: dict[str, list[int]] = {}
    for index, stem in enumerate(stems):
        members.setdefault(stem, []).append(index)
    out = list(stems)
    for stem, indices in members.items():
        if len(indices) > 1:
            for index, suffix in zip(indices, tie_breaker([group[index] for index in indices]), strict=True):
                out[index] = f"{stem}__{suffix}" if suffix else stem
    return out


def _types(tied: Sequence[VariantParams]) -> list[str]:
    """The types that differ; the first one alone if it tells as much as all of them."""
    differing = _differing(tied, lambda variant: variant.signature)
    columns = [[_safe(variant.signature.get(name, "none").replace("*", "")) for variant in tied] for name in differing]
    if not columns:
        return [""] * len(tied)
    whole = [",".join(values) for values in zip(*columns, strict=True)]
    for column in columns:
        if len(set(column)) == len(set(whole)):
            return column
    return whole


def _alignment(tied: Sequence[VariantParams]) -> list[str]:
    differing = _differing(tied, lambda variant: variant.specialisation)
    return [
        "_".join(
            f"{_safe(name)}{_safe(variant.specialisation[name])}"
            for name in differing
            if variant.specialisation.get(name)
        )
        for variant in tied
    ]


def _digests(tied: Sequence[VariantParams]) -> list[str]:
    digests = [variant.digest() for variant in tied]
    length = 8
    while len({digest[:length] for digest in digests}) < len(set(digests)):
        length += 1
    return [digest[:length] for digest in digests]


def _differing(group: Sequence[VariantParams], values: Callable[[VariantParams], Mapping[str, object]]) -> list[str]:
    """Names whose value is not the same in all members, sorted: the order of the members must not matter."""
    names = sorted({name for variant in group for name in values(variant)})
    return [name for name in names if len({_text(values(variant).get(name)) for variant in group}) > 1]


def _constexprs(variant: VariantParams) -> Mapping[str, object]:
    return variant.constexprs


def _options(variant: VariantParams) -> Mapping[str, object]:
    return {name: value for name, value in variant.options.items() if name not in variant.constexprs}


def _initials(name: str, letters: int) -> str:
    words = [word for word in re.split(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])", name) if word]
    if len(words) < 2:
        return _safe(name)
    return _safe("".join(word if word.isdigit() else word[:letters] for word in words))


def _distinct(short: Mapping[str, str]) -> dict[str, str]:
    """Last resort for names that differ in nothing a file name shows, such as upper and lower case."""
    counts = Counter(value.lower() for value in short.values())
    taken: Counter[str] = Counter()
    out = {}
    for name, value in short.items():
        taken[value.lower()] += 1
        out[name] = f"{value}.{taken[value.lower()]}=" if counts[value.lower()] > 1 else value
    # A short name that ends in a digit would run into its value: GROUP1 = 6 is not GROUP = 16.
    return {name: f"{value}=" if value[-1:].isdigit() else value for name, value in out.items()}


def _capped(stem: str, variant: VariantParams) -> str:
    return stem if len(stem) <= _LONGEST else f"{stem[: _LONGEST - 18]}__{variant.digest()[:16]}"


def _numbered(stems: Iterable[str]) -> list[str]:
    """Names distinct even where case does not count."""
    taken: set[str] = set()
    out = []
    for stem in stems:
        name, number = stem, 1
        while name.lower() in taken:
            number += 1
            name = f"{stem}_{number}"
        taken.add(name.lower())
        out.append(name)
    return out


def _common(group: Sequence[VariantParams]) -> dict[str, str]:
    if not group:
        return {}
    differing = {*_differing(group, _constexprs), *_differing(group, _options)}
    values = {**_constexprs(group[0]), **_options(group[0])}
    return {name: _shown(value) for name, value in sorted(values.items()) if name not in differing}


def _described(variant: VariantParams) -> str:
    parts = [f"{name}={_shown(value)}" for name, value in sorted({**_constexprs(variant), **_options(variant)}.items())]
    parts += [
        f"num_warps={variant.num_warps}",
        f"num_stages={variant.num_stages}",
        f"num_ctas={variant.num_ctas}",
    ]
    parts += [f"maxnreg={variant.maxnreg}"] if variant.maxnreg is not None else []
    arguments = dict.fromkeys(variant.specialisation, "") | dict(variant.signature)
    parts += [
        " ".join(filter(None, (f"{name}:", kind, variant.specialisation.get(name)))) for name, kind in arguments.items()
    ]
    return ", ".join(parts)


def _shown(value: object) -> str:
    return " ".join(_text(value).replace("`", "'").split())


def _safe(value: object) -> str:
    text = {"True": "1", "False": "0"}.get(str(value), str(value))
    safe = _UNSAFE.sub("-", text).replace("..", "-").strip(".-")
    if isinstance(value, (int, float)) and value < 0:
        safe = f"-{safe}"
    return safe[:40]


def _text(value: object) -> str:
    # An address in a representation differs from process to process, and says nothing.
    return re.sub(r" at 0x[0-9a-fA-F]+", "", str(value))


def _plain(values: Mapping[str, object]) -> list[list[str]]:
    return [[name, _text(value)] for name, value in sorted(values.items())]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
