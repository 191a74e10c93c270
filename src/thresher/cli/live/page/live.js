"use strict";
// Follows the run: a picture of all that is known first, then what is new. All text is put in as
// text, never as markup, so nothing in the data can become part of the page.

const byId = (id) => document.getElementById(id);
const LONGEST = 400; // points of the curve, as on the server
const STALE = 13000; // milliseconds without a sign of life, of which there is one every four seconds
const known = { about: null, state: "connecting", curve: [], heard: 0, facts: {} };

function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") node.className = value;
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

function drawing(name, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// ------------------------------------------------------------------------- numbers

const counts = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const shares = new Intl.NumberFormat("en", { style: "percent", maximumSignificantDigits: 3 });

function number(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return value.toExponential(2);
  if (size >= 1e4) return counts.format(Number(value.toPrecision(4)));
  return String(Number(value.toPrecision(4)));
}

function inForm(value, form) {
  if (value === null || value === undefined) return "–";
  if (form === "count") return counts.format(value);
  return form === "share" ? shares.format(value) : number(value);
}

function showNumbers(numbers) {
  for (const [key, fact] of Object.entries(known.facts)) {
    if (key in numbers) fact.node.textContent = inForm(numbers[key], fact.form);
  }
}

// --------------------------------------------------------------------------- about

function showAbout(about) {
  known.about = about;
  document.title = `${about.title} – Thresher live`;
  byId("title").textContent = about.title;
  byId("kicker").textContent = `Thresher live · ${about.what}`;
  byId("sample-title").textContent = about.sample_title;
  byId("parts-title").textContent = about.parts_title;
  byId("curve-title").textContent = capital(about.curve);
  byId("save").title = `Writes ${about.file}`;
  byId("facts").replaceChildren();
  known.facts = {};
  for (const fact of about.facts) {
    const node = make("dd", {}, "–");
    byId("facts").append(make("div", {}, make("dt", {}, fact.label), node));
    known.facts[fact.key] = { node, form: fact.form };
  }
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// -------------------------------------------------------------------------- status

const SAID = {
  connecting: "Connecting",
  learning: "Learning",
  paused: "Paused",
  done: "All is read",
  ended: "Ended",
  stale: "No word from the program",
  lost: "Connection lost, trying again",
};

function showState() {
  let state = known.state;
  if (state !== "ended") {
    if (known.lost) state = "lost";
    else if (known.heard && Date.now() - known.heard > STALE) state = "stale";
  }
  const status = byId("status");
  let text = SAID[state];
  if (state === "learning" && known.quiet > 5) text = `Learning, last step ${Math.round(known.quiet)} s ago`;
  if (status.textContent !== text) status.textContent = text;
  status.dataset.state = state;
  const works = state === "learning" || state === "paused" || state === "done";
  const pause = byId("pause");
  pause.disabled = !works || state === "done";
  pause.textContent = state === "paused" ? "Resume" : "Pause";
  byId("save").disabled = !works;
  for (const button of document.querySelectorAll("#fields button")) button.disabled = !works;
}

// -------------------------------------------------------------------------- wishes

async function wish(verb, name = "", text = "") {
  byId("note").textContent = "Asked for; it is done after the current step.";
  try {
    const answer = await fetch("wish", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ verb, name, text }),
    });
    if (!answer.ok) byId("note").textContent = await answer.text();
  } catch {
    byId("note").textContent = "The program did not answer.";
  }
}

byId("pause").addEventListener("click", () => wish(known.state === "paused" ? "resume" : "pause"));
byId("save").addEventListener("click", () => wish("save"));

function showControls(controls) {
  const names = controls.map((control) => control.name).join();
  if (known.controls !== names) {
    known.controls = names;
    byId("fields").replaceChildren(...controls.map(field));
  }
  for (const control of controls) {
    const input = byId(`control-${control.name}`);
    if (document.activeElement !== input && input.dataset.value !== control.value) {
      input.value = input.dataset.value = control.value;
    }
    const now = control.now ? ` Now ${control.now}.` : "";
    const hint = byId(`hint-${control.name}`);
    if (hint.textContent !== control.help + now) hint.textContent = control.help + now;
  }
}

function field(control) {
  const id = `control-${control.name}`;
  const hint = `hint-${control.name}`;
  const input = make("input", { id, "aria-describedby": hint, autocomplete: "off", maxlength: "100" });
  const form = make(
    "form", {},
    make("label", { for: id }, control.label),
    make("div", { class: "field" }, input, make("button", { type: "submit", "aria-label": `Change ${control.label}` }, "Change")),
    make("p", { class: "hint", id: hint }),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    input.dataset.value = input.value;
    wish("change", control.name, input.value);
  });
  return form;
}

// --------------------------------------------------------------------------- curves

function path(values, width, height, low, high) {
  const last = Math.max(values.length - 1, 1);
  const scale = high > low ? height / (high - low) : 0;
  let drawn = "";
  let pen = false;
  values.forEach((value, place) => {
    if (value === null) { pen = false; return; }
    const y = high > low ? height - (value - low) * scale : height / 2;
    drawn += `${pen ? "L" : "M"}${((place / last) * width).toFixed(1)} ${y.toFixed(1)}`;
    pen = true;
  });
  return drawn;
}

function range(lists) {
  const all = lists.flat().filter((value) => value !== null);
  return all.length ? [Math.min(...all), Math.max(...all)] : [0, 1];
}

function addPoint(point) {
  if (!point || point[1] === null) return;
  const last = known.curve[known.curve.length - 1];
  if (last && last[0] === point[0]) return;
  known.curve.push(point);
  if (known.curve.length > LONGEST) {
    const half = LONGEST / 2;
    known.curve = known.curve.filter((_, place) => place >= half || place % 2 === 0);
  }
}

function showCurve() {
  const points = known.curve;
  if (points.length < 2) return;
  const values = points.map((point) => point[1]);
  // A first step that is far off would leave the rest flat.
  const sorted = [...values].sort((a, b) => a - b);
  const low = sorted[0];
  let high = sorted[sorted.length - 1];
  const most = sorted[Math.floor(0.95 * (sorted.length - 1))];
  if (high - low > 5 * (most - low) && most > low) high = most + 0.2 * (most - low);
  const cut = values.map((value) => Math.min(value, high));
  const [width, height, left, below] = [420, 190, 56, 24];
  const first = points[0][0];
  const latest = points[points.length - 1][0];
  const span = Math.max(latest - first, 1);
  let drawn = "";
  points.forEach((point, place) => {
    const x = left + ((point[0] - first) / span) * (width - left - 4);
    const y = 8 + (high > low ? (1 - (cut[place] - low) / (high - low)) * (height - 8 - below) : 60);
    drawn += `${place ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
  });
  const svg = drawing(
    "svg", { viewBox: `0 0 ${width} ${height}`, role: "img" },
    drawing("title", {}, `${capital(known.about.curve)}: ${number(values[values.length - 1])} after ${counts.format(latest)} ${known.about.unit}`),
    drawing("path", { class: "axis", d: `M${left} 8V${height - below}H${width - 4}` }),
    drawing("path", { class: "line", d: drawn }),
    drawing("text", { x: left - 6, y: 14, "text-anchor": "end" }, number(high)),
    drawing("text", { x: left - 6, y: height - below, "text-anchor": "end" }, number(low)),
    drawing("text", { x: left, y: height - 6 }, counts.format(first)),
    drawing("text", { x: width - 4, y: height - 6, "text-anchor": "end" }, `${counts.format(latest)} ${known.about.unit}`),
  );
  byId("curve").replaceChildren(svg);
}

// ---------------------------------------------------------------------------- views

function pictures(found) {
  return make("div", { class: "pictures" }, ...found.pictures.map((one) => {
    const image = make("img", { alt: one.name, src: one.source });
    image.addEventListener("load", () => { if (image.naturalWidth < 100) image.className = "small"; });
    return make("figure", {}, image, make("figcaption", {}, one.name));
  }));
}

function row(found) {
  const head = make("tr", {}, ...found.heads.map((name) => make("th", { scope: "col" }, name)));
  const body = found.rows.map(([name, ...values]) => make(
    "tr", {}, make("th", { scope: "row" }, name),
    ...values.map((value, place) => {
      const aside = place === 2 && value !== 0 && value !== null && found.heads[3] === "Outliers";
      const text = value !== null ? number(value) : place === 2 ? "–" : "missing";
      return make("td", aside ? { class: "aside" } : {}, text);
    }),
  ));
  return make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "The sample, column by column" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
}

function lines(found, title, width = 600, height = 180) {
  const [low, high] = range(found.map((line) => line.values));
  const kinds = ["", " b", " c"];
  const svg = drawing(
    "svg", { viewBox: `0 0 ${width} ${height}`, role: "img", preserveAspectRatio: "none" },
    drawing("title", {}, title),
    ...found.map((line, place) => drawing("path", {
      class: `line${kinds[place]}`, d: path(line.values, width, height, low, high),
    })),
  );
  const key = make("ul", { class: "key" }, ...found.map((line, place) => make(
    "li", {}, drawing("svg", { viewBox: "0 0 28 8", "aria-hidden": "true" }, drawing("path", { class: `line${kinds[place]}`, d: "M0 4H28" })), line.name,
  )));
  return make("div", {}, svg, found.length > 1 ? key : "");
}

function bars(found) {
  return make("div", { class: "grid" }, ...found.parts.map((part) => make(
    "div", {}, make("h3", {}, part.name),
    ...part.bars.map(([name, share]) => make(
      "div", { class: "bar" }, make("span", { title: name }, `${share < 0 ? "−" : ""}${name}`),
      drawing(
        "svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", role: "img", "aria-label": `${Math.round(100 * share)} percent of the largest` },
        drawing("rect", { width: Math.abs(100 * share), height: 8 }),
      ),
    )),
  )));
}

function profiles(found) {
  return make("div", { class: "grid" }, ...found.profiles.map((one) => make(
    "div", {}, make("h3", {}, one.name), lines([{ name: one.name, values: one.values }], one.name, 150, 60),
  )));
}

function text(found) {
  const pieces = found.pieces.map(([piece, strange]) => (strange ? make("mark", {}, piece) : piece));
  return make("blockquote", { class: "document" }, ...pieces);
}

function view(found) {
  if (found.kind === "pictures") return pictures(found);
  if (found.kind === "row") return row(found);
  if (found.kind === "profile") return lines(found.lines, `The latest sample along its ${counts.format(found.features)} features`);
  if (found.kind === "profiles") return profiles(found);
  return found.kind === "document" ? text(found) : bars(found);
}

function showView(found) {
  if (found.sample) {
    const said = found.sample.said ? make("p", { class: "soft" }, capital(found.sample.said)) : "";
    replace("sample", said, view(found.sample));
  }
  if (found.parts) {
    const rest = found.parts.count - found.parts.shown;
    const more = rest > 0 ? make("p", { class: "hint" }, `${found.parts.shown} of ${counts.format(found.parts.count)} are shown.`) : "";
    replace("parts", view(found.parts), more);
  }
}

// What scrolls sideways, and who has the focus, stay as they are.
function replace(id, ...nodes) {
  const before = byId(id).querySelector(".scroll");
  const left = before ? before.scrollLeft : 0;
  const focused = before && document.activeElement === before;
  byId(id).replaceChildren(...nodes);
  const after = byId(id).querySelector(".scroll");
  if (after) { after.scrollLeft = left; if (focused) after.focus({ preventScroll: true }); }
}

function showNoticed(sentences) {
  if (!sentences.length) return;
  byId("noticed").replaceChildren(...sentences.map((one) => make("li", {}, one)));
  byId("noticed").scrollTop = byId("noticed").scrollHeight;
}

function addNoticed(sentence) {
  const list = byId("noticed");
  if (list.firstElementChild && list.firstElementChild.className === "soft") list.replaceChildren();
  list.append(make("li", {}, sentence));
  while (list.children.length > 50) list.firstElementChild.remove();
  list.scrollTop = list.scrollHeight;
}

// --------------------------------------------------------------------------- events

const source = new EventSource("events");

const WHAT_TO_DO = {
  picture(all) {
    showAbout(all.about);
    known.state = all.state;
    known.curve = all.curve;
    if (all.numbers) showNumbers(all.numbers);
    if (all.controls) showControls(all.controls);
    if (all.view) showView(all.view);
    showNoticed(all.noticed);
    showCurve();
  },
  numbers(numbers) { showNumbers(numbers); addPoint(numbers.point); drawSoon(); },
  controls: showControls,
  view: showView,
  noticed: addNoticed,
  note(sentence) { byId("note").textContent = sentence; },
  state(state) { known.state = state; },
  beat(content) { known.quiet = content.quiet; },
};

let due = false;
function drawSoon() { // once for each picture of the screen, however many points come
  if (due) return;
  due = true;
  requestAnimationFrame(() => { due = false; showCurve(); });
}

for (const [kind, work] of Object.entries(WHAT_TO_DO)) {
  source.addEventListener(kind, (event) => {
    known.heard = Date.now();
    known.lost = false;
    if (kind !== "beat") known.quiet = 0;
    work(JSON.parse(event.data));
    if (known.state === "ended") source.close();
    showState();
  });
}
source.addEventListener("error", () => { known.lost = known.state !== "ended"; showState(); });
setInterval(showState, 1000);
showState();
