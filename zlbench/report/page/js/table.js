// A table of any length of which one page is in the document.

const collator = new Intl.Collator("en", { numeric: true });

/** Ranks of texts, so that sorting compares numbers. */
function ranks(texts) {
  const order = [...new Set(texts)].sort(collator.compare);
  const rank = new Map(order.map((text, index) => [text, index]));
  return texts.map((text) => rank.get(text));
}

/**
 * columns: { key, title, head?, cls?, sort?, first?, cell }: `sort` returns a list with a number (or null) for every
 * item, `first` is -1 where the largest comes first, `cell` makes the content of a cell from an item's number.
 * A column without `sort` cannot be sorted by.
 */
class PagedTable {
  constructor({ caption, columns, size = 50, sorted = "", onsort, onpage, rowClass }) {
    Object.assign(this, { columns, size, onsort, onpage, rowClass, items: [], order: [], page: 0, sorted, keys: new Map() });
    this.heads = new Map(columns.map((column) => [column.key, this.head(column)]));
    this.body = el("tbody");
    this.pager = el("nav", { class: "pager", "aria-label": `Pages of: ${caption}` });
    const table = el(
      "table", { class: columns.length > 11 && "dense" },
      el("caption", { class: "unseen" }, caption),
      el("thead", {}, el("tr", {}, [...this.heads.values()])),
      this.body,
    );
    this.node = el("div", {}, el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table), this.pager);
  }

  head(column) {
    const title = column.sort
      ? el("button", { type: "button", class: "sort", click: () => this.turn(column) }, column.head ? column.head() : column.title)
      : column.head ? column.head() : column.title;
    return el("th", { scope: "col", class: column.cls }, title);
  }

  turn(column) {
    const down = column.first === -1;
    const now = this.sorted === column.key ? "-" + column.key : this.sorted === "-" + column.key ? column.key : (down ? "-" : "") + column.key;
    this.sorted = now;
    this.page = 0;
    if (this.onsort) this.onsort(now);
    else this.show(this.items);
  }

  /** Show these items (numbers), in the order asked for. */
  show(items) {
    this.items = items;
    const key = this.sorted.replace(/^-/, "");
    const column = this.columns.find((one) => one.key === key && one.sort);
    this.order = column ? this.inOrder(items, column, this.sorted.startsWith("-") ? -1 : 1) : items;
    for (const [name, head] of this.heads) {
      if (column && name === key) head.setAttribute("aria-sort", this.sorted.startsWith("-") ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    this.draw();
  }

  inOrder(items, column, direction) {
    if (!this.keys.has(column.key)) this.keys.set(column.key, column.sort());
    const keys = this.keys.get(column.key);
    const known = items.filter((item) => keys[item] !== null && keys[item] !== undefined);
    known.sort((a, b) => direction * (keys[a] - keys[b]) || a - b);
    // What has no value is last whichever way.
    return known.length === items.length ? known : known.concat(items.filter((item) => keys[item] === null || keys[item] === undefined));
  }

  draw() {
    const pages = Math.max(1, Math.ceil(this.order.length / this.size));
    this.page = Math.min(Math.max(0, this.page), pages - 1);
    this.shown = this.order.slice(this.page * this.size, (this.page + 1) * this.size);
    this.body.replaceChildren(...this.shown.map((item) => this.row(item)));
    this.pager.replaceChildren(...(pages > 1 ? this.buttons(pages) : []));
    this.pager.hidden = pages < 2;
    if (this.ondraw) this.ondraw(this.shown);
  }

  row(item) {
    const cells = this.columns.map((column, index) =>
      el(index ? "td" : "th", { scope: index ? null : "row", class: column.cls }, column.cell(item)));
    return el("tr", { class: this.rowClass ? this.rowClass(item) : null }, cells);
  }

  buttons(pages) {
    const go = (page, name) =>
      el("button", { type: "button", class: "plain", disabled: page < 0 || page >= pages || page === this.page, click: () => this.turnTo(page, name) }, name);
    const from = this.page * this.size + 1;
    const to = Math.min(this.order.length, from + this.size - 1);
    return [
      go(0, "First"), go(this.page - 1, "Previous"),
      el("span", { "aria-live": "polite" }, `${from.toLocaleString("en")} to ${to.toLocaleString("en")} of ${this.order.length.toLocaleString("en")}`),
      go(this.page + 1, "Next"), go(pages - 1, "Last"),
    ];
  }

  turnTo(page, name) {
    this.page = page;
    this.draw();
    if (this.onpage) this.onpage(page);
    // The button that was pressed has been made anew: keep the keyboard where it was.
    const again = [...this.pager.querySelectorAll("button")].find((button) => button.textContent === name);
    if (again && !again.disabled) again.focus();
    else this.pager.querySelector("button:not(:disabled)")?.focus();
  }
}

/** A list to choose from: its label with it, and the list itself. */
function choice(label, options, value, onchange) {
  const select = el("select", { change: () => onchange(select.value) }, options.map(([, text]) => el("option", {}, text)));
  options.forEach(([key], index) => { select.options[index].value = key; });
  select.value = value;
  return [el("label", {}, label, select), select];
}
