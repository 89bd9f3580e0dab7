// What was left out, controls, and the table of operators that the page already holds.

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
      { key: "row", title: "Row", cls: "named", sort: () => ranks(out.map((_, item) => String(rowName(item)))), cell: (item) => el("span", { class: "label" }, rowName(item)) },
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
