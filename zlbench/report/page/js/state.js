// What is looked at lives in the address, so that a link shows what was meant: #op=mm&verdict=0,1&sort=-change

const state = new URLSearchParams();
const watchers = [];

function readState() {
  const hash = location.hash.slice(1);
  for (const key of [...state.keys()]) state.delete(key);
  // An anchor such as #rows is a place in the page and no state.
  if (hash.includes("=")) new URLSearchParams(hash).forEach((value, key) => state.set(key, value));
}

/** The address with these changes; an empty value takes the key out. */
function address(changes) {
  const next = new URLSearchParams(state);
  for (const [key, value] of Object.entries(changes)) {
    if (value === "" || value === null || value === undefined) next.delete(key);
    else next.set(key, value);
  }
  // Commas and colons are easier to read as they are.
  return "#" + next.toString().replace(/%2C/g, ",").replace(/%3A/g, ":");
}

/** Change what is looked at. Filters replace the address, so that "back" leaves them all at once. */
function setState(changes) {
  const to = address(changes);
  try {
    history.replaceState(null, "", to === "#" ? location.pathname + location.search : to);
  } catch {
    location.replace(to);
    return;
  }
  readState();
  notify(Object.keys(changes));
}

function notify(keys) {
  for (const watcher of watchers) watcher(keys);
}

window.addEventListener("hashchange", () => {
  readState();
  notify(null);
});
