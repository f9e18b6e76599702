// What is asked of a page. Each function returns a list of complaints, in words.


var describe = (e) => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") + " " + JSON.stringify((e.textContent || "").trim().slice(0, 40));

// parse reads a computed colour into linear light and its opacity.
var parse = (text) => {
  const m = text.match(/rgba?\(([^)]+)\)/);
  if (!m) return null;
  const [r, g, b, a = 1] = m[1].split(/[ ,/]+/).map(Number);
  const linear = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  return { luminance: 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b), opacity: a };
};

var ground = (e) => {
  for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor);
    if (c && c.opacity > 0) return c;
  }
  return parse("rgb(255, 255, 255)");
};

var contrast = (a, b) => (Math.max(a.luminance, b.luminance) + 0.05) / (Math.min(a.luminance, b.luminance) + 0.05);

var ownText = (e) => [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim() !== "");

// faintText finds text that does not stand out from its ground, in HTML and in pictures.
var faintText = (least) => [...document.body.querySelectorAll("*")].filter(ownText).flatMap((e) => {
  const style = getComputedStyle(e);
  const colour = parse(e instanceof SVGElement ? style.fill : style.color);
  if (!colour) return [describe(e) + " has a colour that cannot be read: " + style.fill];
  const got = contrast(colour, ground(e));
  return got < least || colour.opacity < 1 ? [describe(e) + " has the contrast " + got.toFixed(2)] : [];
});

// faintLines finds lines and bars of pictures that do not stand out.
var faintLines = (least) => [...document.querySelectorAll("svg path")].flatMap((e) => {
  const written = e.getAttribute("style");
  if (!/--s\d/.test(written)) return [];
  const style = getComputedStyle(e);
  const colour = parse(style.stroke === "none" ? style.fill : style.stroke);
  const got = colour ? contrast(colour, ground(e)) : 0;
  return got < least ? ["a path with " + written + " has the contrast " + got.toFixed(2)] : [];
});

// overflow finds what makes the page scroll sideways.
var overflow = () => {
  const width = document.documentElement.clientWidth;
  const found = [];
  if (document.documentElement.scrollWidth > width) found.push("the page is " + document.documentElement.scrollWidth + " wide in a window of " + width);
  for (const e of document.body.querySelectorAll("*")) {
    if (e.closest(".scroll > *") || e.closest(".skip") || e.closest("svg")) continue;
    if (e.getBoundingClientRect().right > width + 0.5) found.push(describe(e) + " ends at " + e.getBoundingClientRect().right);
  }
  return found;
};

var nameOf = (e) => (e.getAttribute("aria-label") || (e.getAttribute("aria-labelledby") || "").split(/\s+/).filter(Boolean)
  .map((id) => (document.getElementById(id) || {}).textContent || "").join(" ")).trim();

// unnamed finds pictures and regions that say nothing to those who do not see them, and references that lead nowhere.
var unnamed = () => {
  const found = [];
  for (const e of document.querySelectorAll("svg, img, [role=img]")) {
    if (e.getAttribute("aria-hidden") !== "true" && (e.getAttribute("role") !== "img" || !nameOf(e))) found.push("a picture has no name: " + describe(e));
  }
  for (const e of document.querySelectorAll("[role=region], section, figure, nav")) if (!nameOf(e)) found.push(describe(e) + " has no name");
  for (const e of document.querySelectorAll("[aria-labelledby]")) {
    for (const id of e.getAttribute("aria-labelledby").split(/\s+/)) if (!document.getElementById(id)) found.push(describe(e) + " is labelled by " + id + ", which is not there");
  }
  for (const e of document.querySelectorAll("a[href^='#']")) if (!document.getElementById(e.getAttribute("href").slice(1))) found.push(describe(e) + " leads nowhere");
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) found.push("two elements have the id " + id);
  return found;
};

// headings finds levels that are skipped.
var headings = () => {
  const found = [];
  let last = 0;
  for (const h of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const level = Number(h.tagName[1]);
    if (level > last + 1) found.push(describe(h) + " follows a heading of level " + last);
    if (level === 1 && last > 0) found.push("there is a second heading of the first level: " + describe(h));
    if (h.textContent.trim() === "") found.push("a heading is empty");
    last = level;
  }
  if (last === 0) found.push("there are no headings");
  return found;
};

// tables finds tables that a screen reader cannot walk, and figures that do not stand in line.
var tables = () => {
  const found = [];
  for (const t of document.querySelectorAll("table")) {
    if (!t.caption || !t.caption.textContent.trim()) found.push("a table has no caption");
    for (const th of t.querySelectorAll("th")) if (!["col", "row"].includes(th.scope)) found.push(describe(th) + " has no scope");
    const columns = t.tHead.rows[0].cells.length;
    for (const row of t.tBodies[0].rows) {
      if (row.cells.length !== columns) found.push("a row has " + row.cells.length + " of " + columns + " fields: " + describe(row));
      if (!row.querySelector("th")) found.push("a row has no head: " + describe(row));
    }
    for (const td of t.querySelectorAll(".n")) if (getComputedStyle(td).textAlign !== "right") found.push(describe(td) + " is not aligned to the right");
    const scroll = t.parentElement;
    if (scroll.tabIndex !== 0 || scroll.getAttribute("role") !== "region") found.push("a table stands outside of a region that the keyboard reaches");
  }
  return found;
};

// pictures finds text in pictures that is too small, lies outside, or lies on other text.
var pictures = (least) => {
  const found = [];
  for (const svg of document.querySelectorAll("svg[role=img]")) {
    const box = svg.getBoundingClientRect();
    const seen = [];
    for (const e of svg.querySelectorAll("text")) {
      const b = e.getBoundingClientRect();
      const size = parseFloat(getComputedStyle(e).fontSize) * box.width / svg.viewBox.baseVal.width;
      if (size < least) found.push(describe(e) + " is " + size.toFixed(1) + " pixels high");
      if (b.left < box.left - 1 || b.right > box.right + 1 || b.top < box.top - 1 || b.bottom > box.bottom + 1) found.push(describe(e) + " leaves the picture");
      for (const other of seen) {
        const across = Math.min(b.right, other.b.right) - Math.max(b.left, other.b.left);
        const along = Math.min(b.bottom, other.b.bottom) - Math.max(b.top, other.b.top);
        if (across > 1 && along > b.height / 3) found.push(describe(e) + " lies on " + describe(other.e));
      }
      seen.push({ e, b });
    }
    if (seen.length < 4) found.push("a picture has " + seen.length + " texts: no axes");
  }
  return found;
};

// scripts finds anything that could run, and elements that a page of results does not have.
var scripts = () => {
  const found = [];
  const allowed = new Set(("HTML HEAD META LINK TITLE STYLE BODY A HEADER H1 H2 H3 H4 H5 NAV UL LI SPAN MAIN SECTION P CODE DIV TABLE CAPTION THEAD TBODY TR TH TD " +
    "SMALL FIGURE DL DT DD svg g path text").split(" "));
  for (const e of document.querySelectorAll("*")) {
    if (!allowed.has(e.tagName)) found.push("there is an element " + e.tagName);
    for (const a of e.attributes) {
      if (/^on/i.test(a.name) || ["src", "xlink:href"].includes(a.name)) found.push(describe(e) + " has the attribute " + a.name);
      if (a.name === "href" && !/^(#|data:,$)/.test(a.value)) found.push(describe(e) + " leads to " + a.value);
    }
  }
  return found;
};

// inert finds what a failure's page must not have: handlers in attributes, sources, links elsewhere, scripts but its own.
var inert = () => {
  const found = [];
  for (const e of document.querySelectorAll("*")) {
    for (const a of e.attributes) {
      if (/^on/i.test(a.name) || ["src", "srcdoc", "xlink:href"].includes(a.name)) found.push(describe(e) + " has the attribute " + a.name);
      if (a.name === "href" && /^[a-z]+:/i.test(a.value) && a.value !== "data:,") found.push(describe(e) + " leads to " + a.value);
    }
  }
  const scripts = [...document.querySelectorAll("script")].filter((e) => e.type !== "application/json");
  if (scripts.length !== 1) found.push("there are " + scripts.length + " scripts");
  if (document.querySelector("img, iframe, object, embed, form")) found.push("there is an element that loads something");
  return found;
};
