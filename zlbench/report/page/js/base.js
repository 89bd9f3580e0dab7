// Elements, numbers and the page's data. Whatever comes from data reaches the page as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";
const MINUS = "\u2212";
const blocks = new Map();

/** One block of data, read when it is first asked for. */
function load(name) {
  if (!blocks.has(name)) blocks.set(name, JSON.parse(document.getElementById("data-" + name).textContent));
  return blocks.get(name);
}

/** An element with attributes (functions become listeners) and children (everything that is no node becomes text). */
function el(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false && value !== "") node.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false && child !== "") node.append(child);
  }
  return node;
}

function byId(id) {
  return document.getElementById(id);
}

/** `+2.04`, `−0.31`, `+12.3`, `+510`: as the reports in text have it. */
function signed(percent) {
  const text = plain(percent);
  if (text === "-" || !Number(text)) return text;
  return (percent > 0 ? "+" : MINUS) + text;
}

function plain(percent) {
  if (percent === null || percent === undefined) return "-";
  const size = Math.abs(percent);
  return size.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

function span(low, high) {
  return low === null || high === null || low === undefined || high === undefined ? "-" : `${signed(low)}…${signed(high)}`;
}

/** A measured value in the unit that suits it. */
function measured(number, unit) {
  if (number === null || number === undefined) return "-";
  if (unit !== "instructions") return latency(number);
  const [scale, name] = [[1e9, " G"], [1e6, " M"], [1e3, " k"]].find(([least]) => number >= least) || [1, ""];
  return Number((number / scale).toPrecision(4)) + name;
}

function latency(ms) {
  if (ms >= 1000) return (ms / 1000).toFixed(3) + " s";
  if (ms >= 1) return ms.toFixed(ms < 10 ? 3 : 2) + " ms";
  const micro = ms * 1000;
  return (micro >= 10 ? micro.toFixed(1) : micro >= 0.1 ? micro.toFixed(2) : Number(micro.toPrecision(2))) + " µs";
}

/** A probability. */
function chance(value) {
  return value === null || value === undefined ? "-" : value < 0.001 ? "<0.001" : String(value);
}

function count(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** Seconds as `1:02:03`. */
function clock(seconds) {
  const whole = Math.round(seconds);
  const two = (part) => String(part).padStart(2, "0");
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

/** A word for a shell: quoted unless it is plain. */
function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replace(/'/g, "'\"'\"'") + "'";
}

/** A verdict: its sign, then its word or what else is said of it. */
function verdict(number, said) {
  const [word, look, sign] = load("main").verdicts[number];
  return el("span", { class: `verdict ${look}` }, el("span", { class: "sign", "aria-hidden": "true" }, sign), " ", (said || word).replaceAll(" %", "\u00a0%"));
}

/** What a word means: its cause, its meaning and the next step, or the first of them; nothing where nobody has explained it. */
function explained(word, parts = 3) {
  const { terms } = load("main");
  return Object.hasOwn(terms, word) ? terms[word].slice(0, parts).filter(Boolean).join(" ") : "";
}

// What is built when its details are opened, and all of it before the page is printed.
const unopened = new Set();

function lazy(summary, build, attributes) {
  const details = el("details", attributes, el("summary", {}, summary));
  const open = () => {
    if (!unopened.delete(open)) return;
    details.append(...[build()].flat(Infinity).filter(Boolean));
  };
  unopened.add(open);
  details.addEventListener("toggle", () => details.open && open());
  return details;
}
