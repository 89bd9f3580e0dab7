// The table of all rows with its filters, which live in the address.

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
