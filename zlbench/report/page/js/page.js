// The page put together, and which part of it is seen: the report or one operator.

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
