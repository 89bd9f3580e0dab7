"""JUnit XML for tools that know tests: an operator is a suite, a row is a case. Pure.

A slower row is no failure as such: whether it is one is the question of a gate (``--fail-on``), whose findings are
handed in. A cell that did not end well is an error; what has no verdict is skipped, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from zlbench.inference.types import Verdict
from zlbench.report.exports.machine import SIDES, first, identity, operator_names, operators, row_names, said
from zlbench.report.prose import wording
from zlbench.report.summary import OpSummary, RowSummary, Summary

_FORBIDDEN = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even escaped (production Char), and the carriage return, which readers change."""

_TYPES = {"failure": "regression", "error": "cell"}


def to_junit(summary: Summary, *, failures: Mapping[tuple[str, str], str] | None = None) -> str:
    """The file's text.

    Args:
        failures: what a gate says of a row, by operator's directory and row name; an empty row name is the operator.
    """
    root = Element("testsuites", name=_text(summary.header.title))
    ops = operators(summary)
    for name, op in zip(operator_names(ops), ops, strict=True):
        root.append(_suite(name, op, failures or {}, summary))
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _suite(name: str, op: OpSummary, failures: Mapping[tuple[str, str], str], summary: Summary) -> Element:
    suite = Element("testsuite", name=_text(name))
    properties = SubElement(suite, "properties")
    for key, value in _properties(op, summary):
        SubElement(properties, "property", name=_text(key), value=_text(value))
    _cases(suite, op, failures)
    lines = [*op.op.notes, *(f"invalid pair, {text}" for text in op.op.invalid)]
    lines += [f"{word} {text}" for word, text in op.op.markers]
    if lines:
        SubElement(suite, "system-out").text = _text("\n".join(lines))
    suite.set("tests", str(len(suite.findall("testcase"))))
    for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(count, str(len(suite.findall(f"testcase/{tag}"))))
    return suite


def _cases(suite: Element, op: OpSummary, failures: Mapping[tuple[str, str], str]) -> None:
    whole = failures.get((op.op.directory, ""))
    if whole is not None:
        _case(suite, "the operator as a whole", "failure", whole)
    for text in op.op.failed:
        _case(suite, f"cell of {text}", "error", text)
    for label, row in zip(row_names(op.rows), op.rows, strict=True):
        regression = failures.get((op.op.directory, row.row.name))
        if regression is not None:
            _case(suite, label, "failure", regression)
        else:
            _case(suite, label, "skipped", why_skipped(row))
    for text in _unnamed(op):
        _case(suite, f"lost row {text}", "skipped", f"lost row: {text}")


def why_skipped(row: RowSummary) -> str:
    """Why nothing may be said of a row; empty where something may."""
    if not row.n:
        return wording.why_empty(row)
    if row.result is not None and row.result.verdict is Verdict.INVALID:
        return row.result.what
    return ""


def _case(suite: Element, name: str, tag: str, message: str) -> None:
    case = SubElement(suite, "testcase", classname=suite.get("name", ""), name=_text(name))
    if message:
        SubElement(case, tag, {"message": _text(message)} | ({"type": _TYPES[tag]} if tag in _TYPES else {}))


def _unnamed(op: OpSummary) -> list[str]:
    """Lost rows that are no cases yet: where the side did not say which row it was."""
    known = tuple(f"{said(row.row)}:" for row in op.rows)
    return [text for text in op.op.lost if not text.removeprefix("- ").startswith(known)]


def _properties(op: OpSummary, summary: Summary) -> Iterator[tuple[str, str]]:
    yield "kind", "control" if op.op.control else "subject"
    if op.op.verdict:
        yield "ir_verdict", op.op.verdict
    if op.result is not None:
        yield "verdict", op.result.what
    for side, described in zip(SIDES, (summary.header.a, summary.header.b), strict=True):
        known = identity(summary, side)
        build = known.get("build") or {}
        yield side, described
        for key, value in (
            ("native_sha256", build.get("native_sha256")),
            ("suite_commit", known.get("suite_commit")),
            ("driver", known.get("driver")),
            ("card", first((known.get("device_name"), known.get("device")))),
            ("card_uuid", known.get("device_uuid")),
        ):
            if value is not None:
                yield f"{side}.{key}", str(value)


def _text(text: str) -> str:
    r"""Text that XML 1.0 can hold: a control character is shown as ``\x1b``, half of a surrogate pair as ``\udc80``."""
    return _FORBIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
