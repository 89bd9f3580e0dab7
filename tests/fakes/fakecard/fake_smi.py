"""The fake family's tool: JSON lines about cards and processes, from cards.json beside it."""

import json
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent


def main(what, *rest):
    with (HERE / "asked.jsonl").open("a") as stream:
        stream.write(json.dumps({"argv": [what, *rest]}) + "\n")
    state = json.loads((HERE / "cards.json").read_text())
    if state["tool"] == "hang":
        time.sleep(600)
    if state["tool"] == "garbage":
        print("\x00{]] no, cards")
        return 0
    if state["tool"] in ("fails", "missing"):
        print("fake-smi has failed because it could not talk to the driver", file=sys.stderr)
        return 9
    chosen = rest[rest.index("-i") + 1] if "-i" in rest else None
    cards = [card for card in state["cards"] if chosen in (None, str(card["index"]), card["uuid"])]
    if what == "cards":
        found = cards
    else:
        uuids = {card["uuid"] for card in cards}
        found = [item for item in state["processes"] if item["card"] in uuids and state["tool"] != "hidden"]
    for item in found:
        print(json.dumps(item))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
