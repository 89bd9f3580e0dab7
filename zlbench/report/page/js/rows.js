// Rows: one of them with its words, and the columns that show it.

/** One row with its words: a small object made when it is shown. */
function rowAt(row) {
  const { columns: c, tables: t } = load("main").rows;
  const [word, look] = load("main").verdicts[c.v[row]];
  return {
    label: c.label[row], dtype: t.dtype[c.dtype[row]], unit: t.unit[c.unit[row]], timer: t.timer[c.timer[row]], l2: t.l2[c.l2[row]],
    n: c.n[row], a: c.a[row], b: c.b[row], est: c.est[row], med: c.med[row], lo: c.lo[row], hi: c.hi[row], min: c.min[row], max: c.max[row],
    na: c.na[row], nb: c.nb[row], mde: c.mde[row], floor: c.floor[row], q: c.q[row], sign: c.sign[row], need: c.need[row],
    slope: c.slope[row], slopep: c.slopep[row], v: c.v[row], word, look, said: t.what[c.what[row]], short: t.short[c.short[row]],
    flags: [...t.flags[c.flags[row]].split(" ").filter(Boolean), ...(c.aside.includes(row) ? [`timed ${t.timer[c.timer[row]] || "otherwise"}, not in the mean`] : [])],
  };
}

let owners = null;

/** Number of the operator of a row. */
function ownerOf(row) {
  if (!owners) {
    const { ops, rows } = load("main");
    owners = new Int32Array(rows.columns.label.length);
    ops.forEach((op, index) => owners.fill(index, op.first, op.first + op.rows));
  }
  return owners[row];
}

/** Whether a change is told, or only an estimate that nothing follows from. */
const CHANGED = new Set(["slower", "faster"]);
const ALIKE = new Set(["inconclusive", "undetected", "same"]);

function changeOf(r) {
  if (CHANGED.has(r.look) || r.look === "unjudged") return el("strong", {}, signed(r.est));
  return ALIKE.has(r.look) ? "~" : "-";
}

/** Columns of rows by key; in an operator's own table the estimate is shown of every row. */
function rowColumns(op, keys) {
  const { ops, rows, interval } = load("main");
  const c = rows.columns;
  const table = rows.tables;
  const most = symmetric(c.est, [...c.lo, ...c.hi]);
  const size = (values) => () => values.map((value) => (value === null ? null : Math.abs(value)));
  const rowLink = (row) => {
    const owner = ops[ownerOf(row)];
    return el("a", { href: address({ op: owner.id, row: row - owner.first + 1 }) }, el("span", { class: "label" }, c.label[row] || "(no label)"));
  };
  const all = {
    op: { title: "Operator", sort: () => { const rank = ranks(ops.map((one) => one.op)); return c.label.map((_, row) => rank[ownerOf(row)]); },
      cell: (row) => { const owner = ops[ownerOf(row)]; return [el("a", { href: address({ op: owner.id, row: "" }) }, owner.op), owner.control && [" ", el("span", { class: "tag" }, "control")]]; } },
    row: { title: "Row", cls: "named", sort: () => ranks(c.label), cell: rowLink },
    name: { title: "Row", sort: () => ranks(c.label.map((label, row) => `${table.dtype[c.dtype[row]]} ${label}`)),
      cell: (row) => [table.dtype[c.dtype[row]] !== "-" && [el("span", { class: "dtype" }, table.dtype[c.dtype[row]]), " "], rowLink(row)] },
    dtype: { title: "Type", cls: "narrow-off", sort: () => { const rank = ranks(table.dtype); return c.dtype.map((one) => rank[one]); }, cell: (row) => el("span", { class: "dtype" }, table.dtype[c.dtype[row]]) },
    a: { title: "A", cls: op ? "num" : "num narrow-off", first: -1, sort: () => c.a, cell: (row) => measured(c.a[row], table.unit[c.unit[row]]) },
    b: { title: "B", cls: op ? "num" : "num narrow-off", first: -1, sort: () => c.b, cell: (row) => measured(c.b[row], table.unit[c.unit[row]]) },
    change: { title: "Change %", cls: "num", first: -1, sort: () => c.est, cell: (row) => changeOf(rowAt(row)) },
    estimate: { title: "Estimate %", cls: "num", first: -1, sort: () => c.est, cell: (row) => signed(c.est[row]) },
    interval: { title: interval, cls: op ? "num interval" : "num interval narrow-off", first: -1, sort: () => c.lo, cell: (row) => span(c.lo[row], c.hi[row]) },
    plot: { title: "Plot", cls: "plot narrow-off", head: () => scaleHead(most), cell: (row) => strip(rowAt(row).look, c.est[row], c.lo[row], c.hi[row], most) },
    median: { title: "Median %", cls: "num wide", first: -1, sort: () => c.med, cell: (row) => signed(c.med[row]) },
    range: { title: "Rounds %", cls: "num wide interval", first: -1, sort: () => c.min, cell: (row) => span(c.min[row], c.max[row]) },
    n: { title: "n", cls: "num wide", first: -1, sort: () => c.n, cell: (row) => String(c.n[row]) },
    sign: { title: "Signs", cls: "num wide", first: -1, sort: () => c.sign.map((sign, row) => (c.n[row] ? sign / c.n[row] : null)), cell: (row) => (c.n[row] ? `${c.sign[row]}/${c.n[row]}` : "-") },
    noise: { title: "Noise A/B %", cls: "num wide", first: -1, sort: () => c.na.map((value, row) => (value === null && c.nb[row] === null ? null : Math.max(value ?? 0, c.nb[row] ?? 0))),
      cell: (row) => `${plain(c.na[row])}/${plain(c.nb[row])}` },
    q: { title: "q", cls: "num wide", sort: () => c.q, cell: (row) => chance(c.q[row]) },
    mde: { title: "MDE %", cls: "num wide", first: -1, sort: size(c.mde), cell: (row) => plain(c.mde[row]) },
    verdict: { title: "Verdict", cls: "judged", sort: () => c.v.map((one, row) => one * 1e6 - Math.min(1e5, Math.abs(c.est[row] ?? 0))),
      cell: (row) => { const r = rowAt(row); return [verdict(r.v, op ? r.said : r.short), r.flags.filter((flag) => flag !== "uncalibrated").map((flag) => [" ", el("span", { class: "tag", title: explained(flag) }, flag)])]; } },
  };
  return keys.map((key) => ({ key, ...all[key] }));
}
