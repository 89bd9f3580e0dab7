"""Things that released compilers write differently and mean the same: rewritten to the older form.

Each entry says where both forms were seen. A rewriting never drops what one form says and the other does not: an
eviction policy that only the newer compiler keeps on an operation stays a difference.
"""

from __future__ import annotations

import re

# triton 3.6.0 and 3.7.1:
#   tt.load %p cacheModifier = cg evictionPolicy = evict_first : …
# triton 3.9.0:
#   tt.load %p {cachePolicy = #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_first>} : …
_CACHE_POLICY = re.compile(
    r" \{(?P<before>[^{}\n]*?)cachePolicy = "
    r"#tt\.cache_policy<cache_modifier = (?P<modifier>\w+), eviction_policy = (?P<eviction>\w+)>(?P<after>[^{}\n]*)\}"
)
# triton 3.6.0: `amdg.buffer_load %p[%o] : tensor<…>`;  3.9.0: `amdg.buffer_load %p[%o] : !tt.ptr<f32> -> tensor<…>`
_BUFFER_TYPES = re.compile(r"^(.* amdg\.buffer_(?:load|store) .* : )!tt\.ptr<[^<>\n]*> -> (?=tensor<)", re.MULTILINE)


def unify(text: str) -> str:
    """The text with newer spellings replaced by older ones; text without them comes back as it is."""
    if "cachePolicy = " in text:
        text = _CACHE_POLICY.sub(_older_policy, text)
    if " amdg.buffer_" in text:
        text = _BUFFER_TYPES.sub(r"\1", text)
    return text


def _older_policy(match: re.Match[str]) -> str:
    words = ""
    if match["modifier"] != "none":
        words += f" cacheModifier = {match['modifier']}"
    if match["eviction"] != "evict_normal":
        words += f" evictionPolicy = {match['eviction']}"
    rest = [part for part in (match["before"].rstrip(", "), match["after"].lstrip(", ")) if part]
    return words + (f" {{{', '.join(rest)}}}" if rest else "")
