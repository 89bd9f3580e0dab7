// One operator: its rows as a plot and in numbers, its kernels with their IR, what it said, what was left out.

function operatorView(op, number) {
  const { ops } = load("main");
  const rows = Array.from({ length: op.rows }, (_, index) => op.first + index);
  return [
    el("p", { class: "back" }, el("a", { href: address({ op: "", row: "" }) }, "← All operators"), neighbours(ops, number)),
    el("header", { class: "op-head" }, operatorHead(op)),
    rows.length > 0 && el("section", { "aria-labelledby": "op-rows" }, el("h2", { id: "op-rows" }, "Rows"), rowsOf(op, rows)),
    kernelSection(number, op),
    markerSection(op),
    leftOutSection(number),
    cellSection(op),
  ];
}

function neighbours(ops, number) {
  const link = (other, text) => other && [" · ", el("a", { href: address({ op: other.id, row: "" }) }, text)];
  return [link(ops[number - 1], "previous"), link(ops[number + 1], "next")];
}

function operatorHead(op) {
  const { interval } = load("main");
  const known = op.est !== undefined;
  return [
    el("h1", {}, op.op, op.control && [" ", el("span", { class: "tag" }, "control")]),
    el("p", {}, op.v === undefined ? el("span", { class: "equal" }, op.why || "not judged") : verdict(op.v, op.what)),
    known && el("p", { class: "convention" }, "Geometric mean over ", count(op.counted ?? op.rows, "row"), ": ", el("strong", {}, signed(op.est) + " %"),
      op.lo !== undefined && `, ${interval.toLowerCase()} ${signed(op.lo)} … ${signed(op.hi)} %`,
      op.q !== undefined && `, q ${chance(op.q)}`, op.mde !== undefined && `, MDE ${plain(op.mde)} %`, `, ${count(op.n ?? 0, "round")}`),
    op.control && el("p", { class: "equal" }, "Both sides run the same machine code: what differs here is noise."),
    op.ir && el("p", {}, el("code", {}, op.ir), " ", el("span", { class: "equal" }, explained(op.ir, 2))),
    (op.notes || []).map((note) => el("p", { class: "note", role: "note" }, note)),
  ];
}

/** Plot and table of an operator's rows; both show the same page of them. */
function rowsOf(op, rows) {
  const plot = el("div");
  const chosen = op.first + Number(state.get("row") || 0) - 1;
  const table = new PagedTable({
    caption: `Rows of ${op.op}`, size: 40, sorted: "", columns: rowColumns(op, ["name", "a", "b", "estimate", "interval", "median", "range", "n", "sign", "noise", "q", "mde", "verdict"]),
    rowClass: (row) => row === chosen && "chosen",
  });
  table.ondraw = (shown) => plot.replaceChildren(fitted((width) => forest(`Changes of the rows of ${op.op}, in percent`, shown.map((row) => lane(row, chosen)), width)));
  const at = rows.indexOf(chosen);
  table.page = at >= 0 ? Math.floor(at / table.size) : 0;
  table.show(rows);
  return [el("figure", {}, plot, legend()), table.node, el("div", { id: "rounds", class: "rounds" }, at >= 0 && roundsOf(chosen))];
}

function lane(row, chosen) {
  const r = rowAt(row);
  // Rounds are drawn where the estimate is: what the controls show is taken off them as well.
  const dots = readings(row).map((one) => [one.round, one.aFirst, one.change]);
  const shift = r.est === null || !dots.length ? 0 : r.est - dots.reduce((sum, one) => sum + one[2], 0) / dots.length;
  const off = load("main").judged && Math.abs(shift) < 5 ? shift : 0;
  return {
    name: [r.dtype === "-" ? "" : r.dtype, r.label].filter(Boolean).join(" "), look: r.look, est: r.est, lo: r.lo, hi: r.hi, chosen: row === chosen,
    said: r.said, dots: dots.map(([round, aFirst, change]) => [round, aFirst, change + off]),
  };
}

/** What each round of a row read: { round, aFirst, a, b, change } with the change in percent. */
function readings(row) {
  const { pattern, patterns, values } = load("rounds");
  return patterns[pattern[row]].map((round, index) => {
    const [a, b] = [values[row][2 * index], values[row][2 * index + 1]];
    return { round: Math.abs(round), aFirst: round > 0, a, b, change: 100 * (b / a - 1) };
  });
}

function roundsOf(row) {
  const r = rowAt(row);
  const found = readings(row);
  const name = [r.dtype === "-" ? "" : r.dtype, r.label].filter(Boolean).join(" ");
  if (!found.length) return [el("h3", {}, `No round of ${name}`), el("p", {}, r.said)];
  const table = new PagedTable({
    caption: `Rounds of ${r.label}`, sorted: "round",
    columns: [
      { key: "round", title: "Round", sort: () => found.map((one) => one.round), cell: (item) => String(found[item].round) },
      { key: "first", title: "First", sort: () => found.map((one) => Number(one.aFirst)), cell: (item) => (found[item].aFirst ? "A" : "B") },
      { key: "a", title: "A", cls: "num", sort: () => found.map((one) => one.a), cell: (item) => measured(found[item].a, r.unit) },
      { key: "b", title: "B", cls: "num", sort: () => found.map((one) => one.b), cell: (item) => measured(found[item].b, r.unit) },
      { key: "change", title: "Change %", cls: "num", sort: () => found.map((one) => one.change), cell: (item) => signed(found[item].change) },
    ],
  });
  table.show(found.map((_, index) => index));
  const facts = [r.timer && `timer ${r.timer}`, r.l2 && `L2 ${r.l2}`, r.floor !== null && `floor ${plain(r.floor)} %`,
    r.slope !== null && `order effect ${signed(r.slope)} % (p ${chance(r.slopep)})`, r.need !== null && `about ${r.need} rounds needed`];
  return [el("h3", {}, `Rounds of ${name}`), el("p", { class: "equal" }, facts.filter(Boolean).join(" · ")),
    table.node, r.flags.filter((flag) => flag !== "uncalibrated").map((flag) => el("p", {}, el("code", {}, flag), " ", explained(flag)))];
}

const KERNEL = { name: 0, variant: 1, constexprs: 2, signature: 3, ir: 4, code: 5 };

function kernelSection(number, op) {
  const { entries, words: texts } = load("kernels");
  const own = entries.map((entry, index) => [entry, index]).filter(([entry]) => entry.op === number);
  if (!own.length) return null;
  const text = (entry, place) => texts[entry.w[place]];
  const changed = own.filter(([entry]) => text(entry, KERNEL.ir) !== "same" && text(entry, KERNEL.ir) !== "unknown");
  const costs = ["Registers", "Spills", "Shared bytes", "Instructions"];
  const items = own.map((_, item) => item);
  const table = new PagedTable({
    caption: `Kernels of ${op.op}`, sorted: "", size: 25,
    columns: [
      { key: "kernel", title: "Kernel", sort: () => ranks(own.map(([entry]) => text(entry, KERNEL.name))),
        cell: (item) => [text(own[item][0], KERNEL.name), " ", el("span", { class: "label" }, text(own[item][0], KERNEL.variant))] },
      ...["ir", "code"].map((name) => ({ key: name, title: name === "ir" ? "IR" : "Machine code", sort: () => ranks(own.map(([entry]) => text(entry, KERNEL[name]))),
        cell: (item) => el("span", { class: text(own[item][0], KERNEL[name]) === "same" ? "equal" : "changed" }, text(own[item][0], KERNEL[name])) })),
      ...costs.map((title, at) => ({ key: title, title, cls: "num", sort: () => own.map(([entry]) => (entry.b || entry.a || [])[at] ?? null), cell: (item) => bothSides(own[item][0], at) })),
      { key: "config", title: "Warps, stages", cls: "num", cell: (item) => `${own[item][0].warps ?? "-"}, ${own[item][0].stages ?? "-"}` },
    ],
  });
  table.show(items);
  return el("section", { "aria-labelledby": "op-kernels" },
    el("h2", { id: "op-kernels" }, "Kernels"),
    el("p", { class: "found" }, `${count(own.length, "kernel")}, ${changed.length} with other IR. A changed cost shows A → B.`),
    table.node,
    changed.map(([entry, index], at) => kernelCard(entry, index, (place) => text(entry, place), op, at === 0)),
    lazy("Configurations and identities", () => configurations(own, text)));
}

function bothSides(entry, at) {
  const [a, b] = [entry.a?.[at], entry.b?.[at]];
  const say = (value) => (value === null || value === undefined ? "-" : value.toLocaleString("en"));
  if (entry.a && entry.b && a === b) return el("span", { class: "equal" }, say(a));
  return el("span", { class: "changed" }, `${entry.a ? say(a) : "none"} → ${entry.b ? say(b) : "none"}`);
}

function kernelCard(entry, index, text, op, open) {
  const diff = load("diffs")[index];
  const command = el("code", {}, `zlbench diff ${quoted(op.op)}`);
  const name = `${text(KERNEL.name)} ${text(KERNEL.variant)}`;
  return el("div", { class: "kernel" },
    el("h3", {}, text(KERNEL.name), " ", el("span", { class: "label" }, text(KERNEL.variant)), " ", el("span", { class: "tag" }, `IR ${text(KERNEL.ir)}`)),
    entry.rows?.length > 0 && el("p", { class: "equal" }, "of ", entry.rows.map((row) => load("kernels").words[row]).join(", ")),
    entry.ops?.length > 0
      ? el("ul", { class: "histogram", "aria-label": "Operations whose number differs" },
        entry.ops.map(([operation, a, b]) => el("li", {}, el("code", {}, operation), " ", el("span", { class: "changed" }, `${a} → ${b}`))))
      : entry.a && entry.b && el("p", {}, "The same operations, as often: what differs is in their places, types or attributes."),
    diff && lazy("IR of both sides", () => [sideBySide(diff, `IR of ${name}, A beside B`), entry.cut && el("p", {}, "The diff was shortened; all of it: ", command)], { open }),
    entry.omitted && el("p", {}, "This diff found no room in the page: ", command));
}

function configurations(own, text) {
  return own.map(([entry]) => el("div", { class: "kernel" },
    el("h3", {}, text(entry, KERNEL.name), " ", el("span", { class: "label" }, text(entry, KERNEL.variant))),
    el("p", {}, el("span", { class: "equal" }, "constants "), el("code", {}, text(entry, KERNEL.constexprs) || "none")),
    el("p", {}, el("span", { class: "equal" }, "signature "), el("code", {}, text(entry, KERNEL.signature) || "unknown")),
    el("p", {}, el("span", { class: "equal" }, "id "), el("code", {}, entry.id)),
    [["A", entry.a], ["B", entry.b]].map(([side, costs]) => costs && (costs[4] || costs[5]) && el("p", {},
      el("span", { class: "equal" }, `${side} `), costs[4] && ["code ", el("code", {}, costs[4]), " "], costs[5] && ["TTGIR ", el("code", {}, costs[5])]))));
}

function markerSection(op) {
  const counted = op.fallbacks || [];
  const said = op.markers || [];
  if (!counted.length && !said.length) return null;
  const names = [...new Set([...counted.map(([word]) => word), ...said.map(([word]) => word)])];
  return el("section", { "aria-labelledby": "op-markers" },
    el("h2", { id: "op-markers" }, "What its cells said"),
    el("dl", { class: "words" }, names.map((word) => el("div", {},
      el("dt", {}, el("code", {}, word), counted.filter(([one]) => one === word).map(([, times]) => ` × ${times}`)),
      el("dd", {}, said.filter(([one, text]) => one === word && text).map(([, text]) => el("p", {}, el("code", {}, text))), meaningOf(word))))));
}

function meaningOf(word) {
  const { terms } = load("main");
  if (!Object.hasOwn(terms, word)) return el("p", {}, "This word has no explanation.");
  return terms[word].filter(Boolean).map((part, index) => el("p", { class: index === 2 && "step" }, part));
}

function leftOutSection(number) {
  const out = load("out");
  const own = out.map((_, index) => index).filter((index) => out[index].op === number);
  if (!own.length) return null;
  const table = leftOutTable("Left out of this operator", false);
  table.show(own);
  return el("section", { "aria-labelledby": "op-out" }, el("h2", { id: "op-out" }, "Left out"), table.node);
}

function cellSection(op) {
  const card = load("card");
  const cells = (card.lanes || []).flatMap((lane) => lane.cells).filter((cell) => [op.op, op.id].includes(card.words[cell[CELL.op]]));
  if (!cells.length) return null;
  return el("section", { "aria-labelledby": "op-cells" }, el("h2", { id: "op-cells" }, "Its cells"), cellTable(card, cells, null));
}
