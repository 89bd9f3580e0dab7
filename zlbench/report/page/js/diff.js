// IR of both sides beside each other, from a unified diff. Equal lines far from a change are folded into one line.

const COUNTED = /^ {4}(\S.* \d+ -> \d+|the same operations, as often|\S+ \d+ on both sides)$/;

/** Lines of a diff as { fold } or { a, b }, each side { at, text, sign } or nothing. */
function parsedDiff(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  let at = 0;
  while (at < lines.length && (/^(---|\+\+\+) /.test(lines[at]) || COUNTED.test(lines[at]))) at += 1;
  const found = [];
  let [left, right] = [1, 1];
  let [removed, added] = [[], []];
  const flush = () => {
    for (let index = 0; index < Math.max(removed.length, added.length); index += 1) found.push({ a: removed[index], b: added[index], changed: true });
    [removed, added] = [[], []];
  };
  for (const line of lines.slice(at)) {
    if (line.startsWith("-")) removed.push({ at: left++, text: line.slice(1) });
    else if (line.startsWith("+")) added.push({ at: right++, text: line.slice(1) });
    else {
      flush();
      const equal = /^@@ (\d+) equal lines? @@$/.exec(line);
      const hunk = /^@@ -(\d+)\S* \+(\d+)\S* @@/.exec(line);
      if (hunk) [left, right] = [Number(hunk[1]), Number(hunk[2])];
      if (equal) [left, right] = [left + Number(equal[1]), right + Number(equal[1])];
      if (equal || hunk || line.startsWith("@@")) found.push({ fold: equal ? count(Number(equal[1]), "equal line") : "⋯" });
      else found.push({ a: { at: left++, text: line.slice(1) }, b: { at: right++, text: line.slice(1) } });
    }
  }
  flush();
  return found;
}

function sideBySide(text, caption) {
  const cells = (side, kind, sign, parts) => [
    el("td", { class: `at ${side ? kind : ""}` }, side && `${side.at} ${sign}`),
    el("td", { class: `text ${side ? kind : ""}` }, side && parts),
  ];
  const rows = parsedDiff(text).map((line) => {
    if (line.fold) return el("tr", { class: "fold" }, el("td", { colspan: 4 }, line.fold));
    if (!line.changed) return el("tr", {}, cells(line.a, "", " ", line.a.text), cells(line.b, "", " ", line.b.text));
    const [a, b] = line.a && line.b ? words(line.a.text, line.b.text) : [line.a?.text, line.b?.text];
    return el("tr", {}, cells(line.a, "removed", MINUS, a), cells(line.b, "added", "+", b));
  });
  return el("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": caption },
    el("table", { class: "diff" },
      el("caption", { class: "unseen" }, caption),
      el("colgroup", {}, el("col", { class: "at" }), el("col"), el("col", { class: "at" }), el("col")),
      el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "at" }, "line"), el("th", { scope: "col" }, "A"),
        el("th", { scope: "col", class: "at" }, "line"), el("th", { scope: "col" }, "B"))),
      el("tbody", {}, rows)));
}

/** Both lines in pieces, with what only one of them has marked; whole where they have little in common. */
function words(a, b) {
  const split = (text) => text.match(/[\w.]+|\s+|[^\w\s]/g) || [];
  const [left, right] = [split(a), split(b)];
  if (left.length * right.length > 40000) return [a, b];
  const kept = common(left, right);
  if (kept.length * 3 < Math.max(left.length, right.length)) return [a, b];
  return [marked(left, kept.map((pair) => pair[0]), "del"), marked(right, kept.map((pair) => pair[1]), "ins")];
}

/** Places of the longest common run of words. */
function common(left, right) {
  const wide = right.length + 1;
  const most = new Uint16Array((left.length + 1) * wide);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      most[i * wide + j] = left[i] === right[j] ? most[(i + 1) * wide + j + 1] + 1 : Math.max(most[(i + 1) * wide + j], most[i * wide + j + 1]);
    }
  }
  const found = [];
  for (let i = 0, j = 0; i < left.length && j < right.length;) {
    if (left[i] === right[j]) found.push([i++, j++]);
    else if (most[(i + 1) * wide + j] >= most[i * wide + j + 1]) i += 1;
    else j += 1;
  }
  return found;
}

function marked(tokens, kept, tag) {
  const same = new Set(kept);
  const parts = [];
  let run = "";
  let marking = false;
  const flush = () => {
    if (run) parts.push(marking ? el(tag, {}, run) : run);
    run = "";
  };
  tokens.forEach((token, index) => {
    if (same.has(index) === marking) {
      flush();
      marking = !marking;
    }
    run += token;
  });
  flush();
  return parts;
}
