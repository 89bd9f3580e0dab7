"""Does a finished cell that replayed another one's choices still stand for what that one recorded?

Side A may have to be measured again, after a crash or a time limit. It then chooses anew, and a side B that replayed
the choices before would never be comparable with it: it is measured again too.
"""

from __future__ import annotations

from pathlib import Path

from zlbench.cells import CellSpec
from zlbench.identity import read_identity
from zlbench.tuning import source_digest


def still_replays(spec: CellSpec) -> bool:
    """Whether a finished cell replayed the choices that its source holds now; true of every cell that replays none."""
    if spec.autotune != "replay" or spec.replay_from is None:
        return True
    identity = read_identity(Path(spec.out_dir))
    replayed = identity.caliber.autotune_source if identity is not None else None
    return replayed == source_digest(Path(spec.replay_from))
