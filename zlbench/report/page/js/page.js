// The page put together: rows with their filters, operators, controls, card, what was left out; and which of it is seen.

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
    interval: { title: interval, cls: "num interval", first: -1, sort: () => c.lo, cell: (row) => span(c.lo[row], c.hi[row]) },
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

/** The table of all rows, filtered by what the address says. */
function rowsView(place) {
  const main = load("main");
  const { columns: c, tables: t } = main.rows;
  const table = new PagedTable({
    caption: "Rows", size: 50, sorted: state.get("sort") || "verdict",
    columns: rowColumns(null, ["op", "row", "dtype", "a", "b", "change", "interval", "plot", "n", "sign", "noise", "verdict"]),
    onsort: (sort) => setState({ sort: sort === "verdict" ? "" : sort, page: "" }),
    onpage: (page) => setState({ page: page ? page + 1 : "" }),
  });
  const searched = texts();
  const search = el("input", { type: "search", placeholder: "operator, shape, type, verdict", input: () => setState({ q: search.value, page: "" }) });
  const [opLabel, op] = choice("Operator", [["", "all"], ...main.ops.map((one) => [one.id, one.op])], "", (value) => setState({ in: value, page: "" }));
  const [dtypeLabel, dtype] = choice("Type", [["", "all"], ...[...t.dtype].sort(collator.compare).map((one) => [one, one])], "", (value) => setState({ dtype: value, page: "" }));
  const controls = el("input", { type: "checkbox", change: () => setState({ controls: controls.checked ? "1" : "", page: "" }) });
  const toggles = verdictToggles();
  const found = el("output", { class: "found", "aria-live": "polite" });
  const reset = el("button", { type: "button", class: "plain", click: () => setState({ q: "", in: "", dtype: "", verdict: "", controls: "", page: "", sort: "" }) }, "Show all");
  place.replaceChildren(
    el("form", { class: "filters", role: "search", "aria-label": "Filter rows", submit: (event) => event.preventDefault() },
      el("label", {}, "Text", search), opLabel, dtypeLabel, toggles.node, el("label", { class: "line" }, controls, "with controls"), reset),
    el("p", {}, found), table.node);

  function show() {
    const chosen = wantedVerdicts();
    const text = (state.get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);
    const wantedOp = state.get("in") || "";
    const wantedDtype = state.has("dtype") ? t.dtype.indexOf(state.get("dtype")) : -1;
    const rows = [];
    const hits = new Array(main.verdicts.length).fill(0);
    let total = 0;
    for (let row = 0; row < c.v.length; row += 1) {
      const owner = main.ops[ownerOf(row)];
      if (owner.control && !state.get("controls") && owner.id !== wantedOp) continue;
      total += 1;
      if (wantedOp && owner.id !== wantedOp) continue;
      if (state.has("dtype") && c.dtype[row] !== wantedDtype) continue;
      if (text.length && !text.every((word) => searched(row).includes(word))) continue;
      hits[c.v[row]] += 1;
      if (!chosen.size || chosen.has(c.v[row])) rows.push(row);
    }
    table.page = Math.max(0, Number(state.get("page") || 1) - 1);
    table.sorted = state.get("sort") || "verdict";
    table.show(rows);
    if (document.activeElement !== search) search.value = state.get("q") || "";
    [op.value, dtype.value, controls.checked] = [wantedOp, state.get("dtype") || "", Boolean(state.get("controls"))];
    toggles.show(chosen, hits);
    found.textContent = rows.length === total ? count(total, "row") : `${rows.length.toLocaleString("en")} of ${count(total, "row")}`;
    reset.disabled = !["q", "in", "dtype", "verdict", "controls", "sort"].some((key) => state.has(key));
  }

  window.addEventListener("beforeprint", () => { table.size = 400; table.draw(); });
  window.addEventListener("afterprint", () => { table.size = 50; table.draw(); });
  return show;
}

/** What a text is looked for in, made once a row. */
function texts() {
  const main = load("main");
  const { columns: c, tables: t } = main.rows;
  const known = new Array(c.label.length);
  return (row) => {
    if (known[row] === undefined) {
      const owner = main.ops[ownerOf(row)];
      known[row] = [owner.op, c.label[row], t.dtype[c.dtype[row]], main.verdicts[c.v[row]][0], t.what[c.what[row]], t.flags[c.flags[row]]].join(" ").toLowerCase();
    }
    return known[row];
  };
}

/** Numbers of the verdicts that the address names; words that are none are nothing. */
function wantedVerdicts() {
  const asked = new Set((state.get("verdict") || "").split(","));
  return new Set(load("main").verdicts.map((one, index) => (asked.has(one[3]) ? index : -1)).filter((index) => index >= 0));
}

function verdictToggles() {
  const main = load("main");
  const used = main.verdicts.map((_, index) => index).filter((index) => main.rows.columns.v.includes(index));
  const buttons = new Map(used.map((index) => {
    const [word, look, sign] = main.verdicts[index];
    const number = el("span", { class: "equal" });
    const flip = () => {
      const chosen = wantedVerdicts();
      if (!chosen.delete(index)) chosen.add(index);
      setState({ verdict: [...chosen].sort((a, b) => a - b).map((one) => main.verdicts[one][3]).join(","), page: "" });
    };
    const button = el("button", { type: "button", class: `plain ${look}`, "aria-pressed": "false", click: flip },
      el("span", { class: "sign", "aria-hidden": "true" }, sign), ` ${word} `, number);
    return [index, [button, number]];
  }));
  return {
    node: el("fieldset", {}, el("legend", {}, "Verdict"), el("div", { class: "choices" }, [...buttons.values()].map(([button]) => button))),
    show: (chosen, hits) => buttons.forEach(([button, number], index) => {
      button.setAttribute("aria-pressed", String(chosen.has(index)));
      number.textContent = hits[index].toLocaleString("en");
    }),
  };
}

/** Everything that was left out; `withOp` where operators differ. */
function leftOutTable(caption, withOp) {
  const out = load("out");
  const main = load("main");
  const rowName = (item) => (out[item].row === undefined ? "" : [rowAt(out[item].row).dtype, rowAt(out[item].row).label].filter((part) => part && part !== "-").join(" "));
  const operator = { key: "op", title: "Operator", sort: () => ranks(out.map((item) => main.ops[item.op].op)),
    cell: (item) => el("a", { href: address({ op: main.ops[out[item].op].id, row: "" }) }, main.ops[out[item].op].op) };
  return new PagedTable({
    caption, size: 25, sorted: "",
    columns: [
      ...(withOp ? [operator] : []),
      { key: "row", title: "Row", sort: () => ranks(out.map((_, item) => String(rowName(item)))), cell: (item) => el("span", { class: "label" }, rowName(item)) },
      { key: "kind", title: "What", sort: () => ranks(out.map((item) => main.kinds[item.kind])), cell: (item) => el("span", { class: "whole" }, main.kinds[out[item].kind]) },
      { key: "word", title: "Why", cls: "told", sort: () => ranks(out.map((item) => item.word || "")),
        cell: (item) => [out[item].word && [el(/^[A-Z0-9_]+$/.test(out[item].word) ? "code" : "span", {}, out[item].word), " "], out[item].text, " ", el("span", { class: "cause" }, explained(out[item].word || "", 1))] },
      { key: "rounds", title: "Rounds", cls: "num", cell: (item) => (out[item].rounds || []).join(", ") },
    ],
  });
}

function leftOutView(place) {
  const out = load("out");
  const table = leftOutTable("Everything that was left out", true);
  const [label, select] = choice("Why", [["", "all"], ...[...new Set(out.map((item) => item.word || item.kind))].map((word) => [word, load("main").kinds[word] || word])], "", (value) => setState({ left: value }));
  place.replaceChildren(el("form", { class: "filters", submit: (event) => event.preventDefault() }, label), table.node);
  return () => {
    const wanted = state.get("left") || "";
    select.value = wanted;
    table.page = 0;
    table.show(out.map((_, index) => index).filter((index) => !wanted || out[index].word === wanted || (!out[index].word && out[index].kind === wanted)));
  };
}

function controlsView(place) {
  const controls = load("main").ops.filter((op) => op.control);
  if (!controls.length) return;
  const lanes = () => controls.map((op) => ({ name: op.op, look: op.v === undefined ? "unjudged" : load("main").verdicts[op.v][1], est: op.est ?? null, lo: op.lo ?? null, hi: op.hi ?? null, dots: [], said: op.why }));
  place.replaceChildren(el("figure", {}, fitted((width) => forest("Changes of the controls, in percent", lanes(), width)),
    el("figcaption", {}, "Mean over rows of each control, with its interval. The same numbers stand in the table of operators.")));
}

/** The static table of operators: sorted by its heads, and short until somebody asks for all of it. */
function operatorTable() {
  const table = byId("operator-table");
  const lines = [...table.tBodies[0].rows];
  const { ops } = load("main");
  const shown = 30;
  let all = lines.length <= shown + 10;
  const keys = {
    name: (line) => ops[line.dataset.op].op, rows: (line) => -ops[line.dataset.op].rows, rounds: (line) => -(ops[line.dataset.op].n ?? 0),
    ir: (line) => -parseInt(line.cells[3].textContent || "-1", 10), code: (line) => -parseInt(line.cells[4].textContent || "-1", 10),
    change: (line) => -(ops[line.dataset.op].est ?? -Infinity), interval: (line) => -(ops[line.dataset.op].lo ?? -Infinity),
    verdict: (line) => ops[line.dataset.op].v ?? 99, said: (line) => line.cells[9].textContent,
  };
  const more = el("button", { type: "button", class: "plain", click: () => { all = true; draw(); } }, `Show all ${lines.length.toLocaleString("en")} operators`);
  byId("operator-more").append(more);
  function draw() {
    table.tBodies[0].replaceChildren(...(all ? lines : lines.slice(0, shown)));
    more.hidden = all;
  }
  let [by, direction] = ["", 1];
  for (const head of table.tHead.rows[0].cells) {
    const key = head.dataset.sort;
    if (!key) continue;
    const turn = () => {
      [by, direction] = [key, by === key ? -direction : 1];
      const values = new Map(lines.map((line) => [line, keys[key](line)]));
      lines.sort((a, b) => {
        const [left, right] = [values.get(a), values.get(b)];
        return direction * (typeof left === "string" ? collator.compare(left, right) : left === right ? 0 : left - right) || a.dataset.op - b.dataset.op;
      });
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", (direction === 1) === ["name", "verdict", "said"].includes(key) ? "ascending" : "descending");
      draw();
    };
    head.replaceChildren(el("button", { type: "button", class: "sort", click: turn }, ...head.childNodes));
  }
  draw();
}

function go(id) {
  const target = byId(id);
  if (!target) return;
  target.scrollIntoView();
  target.focus({ preventScroll: true });
}

/** Links to a part of the page keep what the address says of filters. */
function follow(event) {
  const link = event.target.closest?.("a[href]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const href = link.getAttribute("href");
  if (link.dataset.go) {
    event.preventDefault();
    const asked = Object.fromEntries(new URLSearchParams(href.includes("=") ? href.slice(1) : ""));
    setState({ op: "", row: "", ...asked, ...(asked.verdict ? { q: "", in: "", dtype: "", page: "" } : {}) });
    go(link.dataset.go);
  } else if (href.startsWith("#op=")) {
    event.preventDefault();
    const asked = new URLSearchParams(href.slice(1));
    location.hash = address({ op: asked.get("op"), row: asked.get("row") || "" });
  }
}

function start() {
  const main = load("main");
  const show = [];
  const byOp = new Map(main.ops.map((op, index) => [op.id, index]));
  const [report, article] = [byId("report"), byId("operator")];
  const unknown = el("p", { class: "note", role: "alert", hidden: true });
  byId("main").prepend(unknown);
  const title = document.title;
  let scrolled = 0;
  let opened = "";
  if (byId("operator-table")) operatorTable();
  if (byId("rows-body")) show.push([["q", "in", "dtype", "verdict", "controls", "sort", "page"], rowsView(byId("rows-body"))]);
  if (byId("left-out-body")) show.push([["left"], leftOutView(byId("left-out-body"))]);
  if (byId("controls-body")) controlsView(byId("controls-body"));
  if (byId("card-body")) byId("card-body").replaceChildren(...cardView());

  /** Show an operator or the report. Only lists that a change concerns are made anew. */
  function seen(keys) {
    const asked = state.get("op") || "";
    const place = asked + "\n" + (state.get("row") || "");
    const known = byOp.has(asked);
    unknown.hidden = !asked || known;
    unknown.textContent = unknown.hidden ? "" : `This report has no operator ${asked}.`;
    document.title = known ? `${main.ops[byOp.get(asked)].op} in the ${title}` : title;
    if (known) {
      if (place !== opened) {
        if (report.hidden === false) scrolled = window.scrollY;
        unopened.clear();
        report.hidden = true;
        article.hidden = false;
        const another = opened.split("\n")[0] !== asked;
        article.replaceChildren(...operatorView(main.ops[byOp.get(asked)], byOp.get(asked)).flat(Infinity).filter(Boolean));
        if (another) { window.scrollTo(0, 0); article.focus({ preventScroll: true }); }
        if (state.get("row")) byId("rounds")?.scrollIntoView({ block: "nearest" });
      }
    } else {
      article.hidden = true;
      article.replaceChildren();
      report.hidden = false;
      if (opened) window.scrollTo(0, scrolled);
      for (const [concerned, redraw] of show) if (!keys || keys.some((key) => concerned.includes(key))) redraw();
    }
    opened = known ? place : "";
  }

  readState();
  watchers.push(seen);
  document.addEventListener("click", follow);
  window.addEventListener("beforeprint", () => [...unopened].forEach((open) => open()));
  seen(null);
}

start();
