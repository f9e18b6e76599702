"use strict";
(() => {
  const model = JSON.parse(document.getElementById("model").textContent);
  const $ = (id) => document.getElementById(id);
  const events = model.events, lanes = model.lanes;
  const canvas = $("canvas"), box = $("box"), pen = canvas.getContext("2d");
  const OPEN = -1, LABELS = 104, AXIS = 26, BAR = 9, LISTED_MAX = 200, PATH_MAX = 120;
  const seconds = (ns) => ns === OPEN ? "never" : (ns / 1e9).toFixed(6);
  const end = (e) => e.end === OPEN ? model.ended : e.end;
  const took = (e) => e.end === OPEN ? "never ended" : e.end === e.at ? "" : e.end - e.at < 1e6 ? (e.end - e.at) / 1e3 + " µs" : (e.end - e.at) / 1e6 + " ms";
  const apart = (ns) => (ns < 0 ? "−" : "+") + (Math.abs(ns) < 1e7 ? (Math.abs(ns) / 1e3).toFixed(0) + " µs" : (Math.abs(ns) / 1e6).toFixed(1) + " ms");
  const where = (e) => (e.node < 0 ? "world" : lanes[e.node].name) + (e.peer >= 0 ? " → " + lanes[e.peer].name : "");
  const element = (tag, text, attributes) => Object.assign(document.createElement(tag), text === undefined ? {} : { textContent: text }, attributes);

  // What is shown: a stretch of time, a filter, a selection.
  const view = { from: 0, to: Math.max(model.ended, 1) };
  const filter = { kinds: new Set(), node: "", ref: "", text: "" };
  let passing = [], chosen = -1, related = new Set(), drawn = [], height = 0;

  // Bars that overlap stand in rows of their own. Each lane has room for a few; more share the last one.
  const ROWS_MAX = 5;
  const rows = new Int8Array(events.length), depth = lanes.map(() => ({ operation: 0 })), faultRows = { count: 0 };
  const pack = () => {
    const ends = new Map();
    events.forEach((e, i) => {
      if (e.kind !== "operation" && e.kind !== "fault") return;
      const key = e.kind === "fault" ? "fault" : e.node;
      if (!ends.has(key)) ends.set(key, []);
      const open = ends.get(key);
      let row = open.findIndex((t) => t <= e.at);
      if (row < 0) row = Math.min(open.length, ROWS_MAX - 1);
      open[row] = Math.max(open[row] || 0, end(e) + model.ended / 400);
      rows[i] = row;
      if (e.kind === "fault") faultRows.count = Math.max(faultRows.count, row + 1);
      else depth[e.node].operation = Math.max(depth[e.node].operation, row + 1);
    });
  };
  const layout = [];
  let faultsAt = 0;
  const place = () => {
    let y = AXIS;
    faultsAt = y;
    y += Math.max(faultRows.count, 1) * (BAR + 2) + 8;
    lanes.forEach((lane, i) => {
      const bars = depth[i].operation * (BAR + 1), disk = lane.role === "bookie" || lane.role === "store" ? BAR + 4 : 0;
      layout[i] = { top: y, bars: y + 4, mark: y + 6 + bars, wire: y + 12 + bars, disk: y + 20 + bars, height: 26 + bars + disk };
      y += layout[i].height + 3;
    });
    height = y + 4;
  };

  // Filter.
  const passes = (e) => {
    if (!filter.kinds.has(e.kind)) return false;
    if (filter.node !== "" && String(e.node) !== filter.node && String(e.peer) !== filter.node) return false;
    if (filter.ref && !(e.refs || []).some((r) => r === filter.ref || (!filter.ref.includes("/") && r.startsWith(filter.ref + "/")))) return false;
    return !filter.text || e.text.toLowerCase().includes(filter.text);
  };
  const refilter = () => {
    passing = [];
    events.forEach((e, i) => { if (passes(e)) passing.push(i); });
    draw();
  };

  // Following: what shares an entry with the chosen event; a ledger as a whole only while the event lasts.
  const relate = () => {
    related = new Set();
    if (chosen < 0) return;
    const e = events[chosen], refs = new Set(e.refs || []), entries = [...refs].filter((r) => r.includes("/"));
    related.add(chosen);
    events.forEach((o, i) => {
      if (!o.refs) return;
      const same = entries.length ? o.refs.some((r) => r.includes("/") && refs.has(r)) : o.refs.some((r) => refs.has(r.split("/")[0]));
      if (same && (entries.length || (o.at <= end(e) && end(o) >= e.at))) related.add(i);
    });
  };
  const select = (i, reveal) => {
    chosen = i >= 0 && i < events.length ? i : -1;
    relate();
    if (chosen >= 0 && reveal) {
      const e = events[chosen], length = Math.max(end(e) - e.at, model.ended / 2000, 2e5);
      if (e.at < view.from || e.at > view.to || reveal === "close") show(e.at - length, Math.min(end(e), e.at + 5e8) + length);
    }
    tell();
    draw();
  };
  const follower = (i, text) => {
    const b = element("button", text, { type: "button", className: "link" });
    b.addEventListener("click", () => select(i, true));
    return b;
  };
  const path = (indices) => {
    const list = element("ol");
    for (const i of indices.slice(0, PATH_MAX)) {
      const e = events[i], item = element("li");
      item.append(element("span", seconds(e.at)), element("span", apart(e.at - events[chosen].at), { className: "soft" }), element("span", where(e)), follower(i, e.text));
      list.append(item);
    }
    if (indices.length > PATH_MAX) list.append(element("li", "and " + (indices.length - PATH_MAX) + " more: filter by ledger/entry"));
    return list;
  };
  const tell = () => {
    const detail = $("detail");
    detail.replaceChildren();
    detail.hidden = chosen < 0;
    if (chosen < 0) return;
    const e = events[chosen];
    detail.append(element("h3", e.text), element("p", [e.kind, where(e), "at " + seconds(e.at) + " s", took(e)].filter(Boolean).join(", ")));
    const others = [...related].filter((i) => i !== chosen).sort((a, b) => events[a].at - events[b].at);
    const during = others.filter((i) => events[i].at <= end(e) && end(events[i]) >= e.at), rest = others.filter((i) => !during.includes(i));
    const zoom = element("button", "zoom to it", { type: "button" }), gone = element("button", "let it go", { type: "button" });
    zoom.addEventListener("click", () => select(chosen, "close"));
    gone.addEventListener("click", () => select(-1));
    const row = element("p", undefined, { className: "group" });
    row.append(zoom, gone);
    detail.append(row);
    if (during.length) detail.append(element("p", e.kind === "operation" ? "From client to disk, while it lasted:" : "At the same time, of the same entries:", { className: "soft" }), path(during));
    if (rest.length) {
      const more = element("details");
      more.append(element("summary", rest.length + " more of the same " + ((e.refs || []).some((r) => r.includes("/")) ? "entries" : "ledger") + ", before and after"), path(rest));
      detail.append(more);
    }
  };

  // Drawing.
  const colours = {};
  const readColours = () => {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["paper", "sunk", "ink", "soft", "grid", "accent", "bad", "operation", "message", "sync", "write", "mark", "fault"]) {
      let value = style.getPropertyValue("--" + name).trim();
      for (let m; (m = value.match(/^var\((--[\w-]+)\)$/));) value = style.getPropertyValue(m[1]).trim();
      colours[name] = value;
    }
    colours.disk = colours.soft;
    colours.life = colours.ink;
    colours.log = colours.soft;
  };
  const width = () => canvas.clientWidth;
  const x = (t) => LABELS + (t - view.from) / (view.to - view.from) * (width() - LABELS - 8);
  const time = (px) => view.from + (px - LABELS) / (width() - LABELS - 8) * (view.to - view.from);
  const spot = (i, left, top, wide, high) => drawn.push({ i, left, top, wide, high });
  const bar = (i, e, y, high) => {
    const left = Math.max(x(e.at), LABELS), right = Math.min(Math.max(x(end(e)), x(e.at) + 2), width());
    pen.fillRect(left, y, right - left, high);
    if (e.bad || e.accused) {
      pen.fillStyle = colours.bad;
      pen.fillRect(left, y + high - 3, right - left, 3);
    }
    if (e.end === OPEN) pen.fillRect(right - 5, y - 1, 5, high + 2);
    spot(i, left, y, right - left, high);
    return right - left;
  };
  const drawMessage = (i, e) => {
    const a = layout[e.node].wire, lost = e.end === OPEN, b = e.peer >= 0 ? layout[e.peer].wire : a - 10;
    const x1 = x(e.at), x2 = lost ? x1 + 10 : x(e.end), y2 = lost ? a + Math.sign(b - a) * 12 : b;
    pen.strokeStyle = lost || e.bad ? colours.bad : pen.strokeStyle;
    pen.beginPath();
    pen.moveTo(x1, a);
    pen.lineTo(x2, y2);
    pen.stroke();
    if (lost) {
      pen.beginPath();
      for (const s of [-1, 1]) { pen.moveTo(x2 - 3, y2 - 3 * s); pen.lineTo(x2 + 3, y2 + 3 * s); }
      pen.stroke();
    } else {
      pen.beginPath();
      pen.arc(x2, y2, 1.8, 0, 7);
      pen.fill();
    }
    drawn.push({ i, line: [x1, a, x2, y2] });
  };
  const drawEvent = (i, lit) => {
    const e = events[i], colour = lit ? colours.accent : colours[e.kind];
    pen.fillStyle = pen.strokeStyle = colour;
    pen.lineWidth = lit ? 2 : 1;
    if (e.kind === "fault") {
      const y = faultsAt + 2 + rows[i] * (BAR + 2), wide = bar(i, e, y, BAR);
      if (e.node >= 0) {
        pen.globalAlpha *= 0.13;
        pen.fillStyle = colours.fault;
        pen.fillRect(Math.max(x(e.at), LABELS), layout[e.node].top, Math.max(wide, 2), layout[e.node].height);
      }
      return;
    }
    const l = layout[e.node];
    if (!l) return;
    if (e.kind === "operation") bar(i, e, l.bars + rows[i] * (BAR + 1), BAR);
    else if (e.kind === "message") drawMessage(i, e);
    else if (e.kind === "sync") bar(i, e, l.disk, BAR);
    else if (e.kind === "write") bar(i, e, l.disk + 2, BAR - 4);
    else if (e.kind === "disk") bar(i, e, l.disk + 5, 2);
    else {
      const at = x(e.at), big = e.kind === "life";
      if (e.bad) pen.fillStyle = colours.bad;
      if (big) { pen.beginPath(); pen.arc(at, l.mark, 4, 0, 7); pen.fill(); } else pen.fillRect(at - 0.75, l.mark - 4, lit ? 3 : 1.5, 8);
      spot(i, at - 2, l.mark - 4, 4, 8);
    }
  };
  const drawFrame = () => {
    pen.clearRect(0, 0, width(), height);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const span = view.to - view.from, most = Math.max((width() - LABELS) / 110, 2);
    const unit = 10 ** Math.floor(Math.log10(span / most)), step = [1, 2, 5, 10].map((m) => m * unit).find((s) => span / s <= most);
    pen.textAlign = "center";
    for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
      pen.fillStyle = colours.grid;
      pen.fillRect(x(t), AXIS - 6, 1, height);
      pen.fillStyle = colours.soft;
      if (x(t) > LABELS + 24) pen.fillText((t / 1e9).toFixed(Math.min(Math.max(0, 9 - Math.floor(Math.log10(step))), 9)) + " s", x(t), 10);
    }
    lanes.forEach((lane, i) => {
      const l = layout[i];
      pen.fillStyle = colours.sunk;
      pen.globalAlpha = 0.6;
      pen.fillRect(LABELS, l.top, width(), l.height);
      pen.globalAlpha = 1;
      for (const a of lane.away || []) {
        const left = Math.max(x(a.from), LABELS), right = Math.min(x(a.to), width());
        if (right > left) hatch(left, l.top, right - left, l.height, a.why);
      }
    });
    if (model.healed) {
      pen.fillStyle = colours.ink;
      pen.fillRect(x(model.healed), AXIS - 6, 1.5, height);
    }
  };
  const hatch = (left, top, wide, high, why) => {
    pen.save();
    pen.beginPath();
    pen.rect(left, top, wide, high);
    pen.clip();
    pen.strokeStyle = colours.grid;
    pen.lineWidth = why === "paused" ? 1 : 2;
    pen.beginPath();
    for (let at = left - high - (left % 8); at < left + wide; at += 8) { pen.moveTo(at, top + high); pen.lineTo(at + high, top); }
    pen.stroke();
    pen.fillStyle = colours.soft;
    pen.textAlign = "left";
    if (wide > 46) pen.fillText(why, left + 4, top + high - 8);
    pen.restore();
  };
  const drawLabels = () => {
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 0, LABELS - 1, height);
    pen.textAlign = "right";
    pen.fillStyle = colours.soft;
    pen.fillText("faults", LABELS - 8, faultsAt + 8);
    pen.fillStyle = colours.ink;
    lanes.forEach((lane, i) => pen.fillText(lane.name, LABELS - 8, layout[i].top + layout[i].height / 2));
  };
  let due = 0;
  const draw = () => { if (!due) due = requestAnimationFrame(() => { due = 0; paint(); }); };
  const visible = () => passing.filter((i) => events[i].at <= view.to && end(events[i]) >= view.from);
  const paint = () => {
    const scale = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width() * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.style.height = height + "px";
      canvas.width = Math.round(width() * scale);
      canvas.height = Math.round(height * scale);
    }
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    drawn = [];
    drawFrame();
    const seen = visible(), messages = seen.filter((i) => events[i].kind === "message").length;
    for (const kind of ["fault", "message", "disk", "write", "sync", "operation", "mark", "log", "life"]) {
      for (const i of seen) {
        if (events[i].kind !== kind || related.has(i)) continue;
        pen.globalAlpha = chosen >= 0 ? (kind === "fault" || kind === "life" ? 0.55 : 0.16) : kind === "message" ? Math.min(0.75, Math.max(0.12, 120 / messages)) : kind === "mark" ? 0.6 : 0.9;
        drawEvent(i, false);
      }
    }
    pen.globalAlpha = 1;
    for (const i of related) if (passes(events[i]) || i === chosen) drawEvent(i, true);
    pen.globalAlpha = 1;
    if (chosen >= 0) outline();
    drawLabels();
    $("span").textContent = seconds(view.from) + " to " + seconds(view.to) + " s, " + seen.length + " of " + events.length + " events";
    list(seen);
    count();
  };
  const outline = () => {
    const s = drawn.find((d) => d.i === chosen && !d.line);
    if (!s) return;
    pen.strokeStyle = colours.ink;
    pen.lineWidth = 1.5;
    pen.strokeRect(s.left - 2, s.top - 2, s.wide + 4, s.high + 4);
  };
  const list = (seen) => {
    if (!$("listing").open) { $("listed").textContent = "(" + seen.length + ")"; return; }
    const body = $("events").tBodies[0];
    body.replaceChildren();
    for (const i of seen.slice(0, LISTED_MAX)) {
      const e = events[i], row = element("tr"), what = element("td");
      what.append(follower(i, e.text));
      row.append(element("th", seconds(e.at), { scope: "row", className: "n" }), element("td", took(e), { className: "n" }), element("td", where(e)), element("td", e.kind), what);
      body.append(row);
    }
    $("listed").textContent = seen.length > LISTED_MAX ? "(the first " + LISTED_MAX + " of " + seen.length + ": zoom or filter for the others)" : "(" + seen.length + ")";
  };
  const count = () => {
    const counts = {};
    for (const e of events) counts[e.kind] = (counts[e.kind] || 0) + 1;
    for (const label of $("kinds").querySelectorAll("label")) label.querySelector(".count").textContent = counts[label.querySelector("input").value] || 0;
  };

  // Moving.
  const SHORTEST = 2e4; // 20 µs
  const show = (from, to) => {
    const length = Math.min(Math.max(to - from, SHORTEST), model.ended * 1.02), middle = (from + to) / 2;
    view.from = Math.min(Math.max(middle - length / 2, 0), Math.max(model.ended * 1.01 - length, 0));
    view.to = view.from + length;
    draw();
  };
  const zoom = (factor, around) => {
    const t = around === undefined ? (view.from + view.to) / 2 : around, from = t - (t - view.from) * factor, to = t + (view.to - t) * factor;
    show(from, to);
  };
  const pan = (part) => { const d = (view.to - view.from) * part; show(view.from + d, view.to + d); };
  const whole = () => show(0, model.ended);
  // What matters: the accused, with what of their entries happened close to them; else the last tenth.
  const matters = () => {
    const accused = model.accused.filter((a) => a.begin >= 0);
    if (!accused.length) { show(model.ended * 0.9, model.ended); return; }
    const from = Math.min(...accused.map((a) => a.begin)), to = Math.max(...accused.map((a) => a.end === OPEN ? a.begin : a.end));
    const margin = Math.max((to - from) * 0.08, 2e6);
    show(from - margin, to + margin);
  };
  const next = (direction) => {
    const order = passing.filter((i) => events[i].kind !== "fault" || events[i].node >= 0);
    if (!order.length) return;
    const middle = (view.from + view.to) / 2;
    let at = order.indexOf(chosen);
    if (at < 0) at = order.findIndex((i) => events[i].at >= middle) - (direction > 0 ? 1 : 0);
    select(order[Math.min(Math.max(at + direction, 0), order.length - 1)], true);
  };

  const hit = (px, py) => {
    let best = -1, least = 7;
    for (const s of drawn) {
      let d;
      if (s.line) {
        const [x1, y1, x2, y2] = s.line, dx = x2 - x1, dy = y2 - y1, part = Math.min(Math.max(((px - x1) * dx + (py - y1) * dy) / (dx * dx + dy * dy || 1), 0), 1);
        d = Math.hypot(px - x1 - part * dx, py - y1 - part * dy) + 1.5;
      } else d = Math.hypot(Math.max(s.left - px, px - s.left - s.wide, 0), Math.max(s.top - py, py - s.top - s.high, 0));
      if (d <= least) { least = d; best = s.i; }
    }
    return best;
  };
  const inside = (event) => { const r = canvas.getBoundingClientRect(); return [event.clientX - r.left, event.clientY - r.top]; };

  const listen = () => {
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => { if (event.pointerType !== "touch") { drag = { x: event.clientX, from: view.from, to: view.to, moved: false }; canvas.setPointerCapture(event.pointerId); } });
    canvas.addEventListener("pointermove", (event) => {
      const [px, py] = inside(event);
      if (drag) {
        const d = (event.clientX - drag.x) / (width() - LABELS - 8) * (drag.to - drag.from);
        drag.moved = drag.moved || Math.abs(event.clientX - drag.x) > 3;
        if (drag.moved) show(drag.from - d, drag.to - d);
        return;
      }
      const i = hit(px, py), tip = $("tip");
      tip.hidden = i < 0;
      if (i < 0) return;
      tip.textContent = seconds(events[i].at) + " " + where(events[i]) + ": " + events[i].text + (took(events[i]) ? ", " + took(events[i]) : "");
      tip.style.left = Math.min(px + 12, Math.max(width() - 300, 0)) + "px";
      tip.style.top = py + 14 + "px";
    });
    canvas.addEventListener("pointerleave", () => { $("tip").hidden = true; });
    canvas.addEventListener("pointerup", () => { setTimeout(() => { drag = null; }); });
    canvas.addEventListener("click", (event) => { if (!drag || !drag.moved) select(hit(...inside(event))); });
    canvas.addEventListener("wheel", (event) => {
      if (event.ctrlKey || event.metaKey) { event.preventDefault(); zoom(Math.exp(Math.min(Math.max(event.deltaY, -80), 80) / 160), time(inside(event)[0])); }
      else if (event.shiftKey) { event.preventDefault(); pan((event.deltaY || event.deltaX) / 1000); }
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const act = { "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), "0": whole,
        Home: () => show(0, view.to - view.from), End: () => show(model.ended - view.to + view.from, model.ended), n: () => next(1), p: () => next(-1),
        Enter: () => select(chosen, "close"), Escape: () => select(-1) }[event.key];
      if (act) { event.preventDefault(); act(); }
    });
    for (const [id, act] of Object.entries({ in: () => zoom(0.5), out: () => zoom(2), left: () => pan(-0.3), right: () => pan(0.3), all: whole, fit: matters })) $(id).addEventListener("click", act);
    $("kinds").addEventListener("change", () => { readFilter(); });
    for (const id of ["node", "ref", "text"]) $(id).addEventListener("input", () => readFilter());
    for (const b of $("subjects").children) b.addEventListener("click", () => { $("ref").value = b.dataset.ref; readFilter(); });
    $("reset").addEventListener("click", () => {
      for (const i of $("kinds").querySelectorAll("input")) i.checked = true;
      $("node").value = $("ref").value = $("text").value = "";
      readFilter();
    });
    $("listing").addEventListener("toggle", draw);
    new ResizeObserver(draw).observe(box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); draw(); });
    for (const span of document.querySelectorAll(".pick")) {
      const i = Number(span.dataset.event);
      if (i < 0) continue;
      const b = follower(i, span.textContent);
      b.addEventListener("click", () => { canvas.focus({ preventScroll: true }); box.scrollIntoView({ block: "nearest" }); });
      span.replaceChildren(b);
    }
  };
  const readFilter = () => {
    filter.kinds = new Set([...$("kinds").querySelectorAll("input:checked")].map((i) => i.value));
    filter.node = $("node").value;
    filter.ref = $("ref").value.trim();
    filter.text = $("text").value.trim().toLowerCase();
    refilter();
  };

  pack();
  place();
  for (const id of ["tools", "box", "keys", "listing"]) $(id).hidden = false;
  readColours();
  canvas.style.height = height + "px";
  listen();
  readFilter();
  if (model.failed) {
    matters();
    const first = model.accused.find((a) => a.event >= 0);
    if (first) select(first.event);
  }
  // For whoever drives the page by hand or in a test.
  window.page = {
    view, filter, events, lanes, select, show, visible, hit,
    chosen: () => chosen, related: () => [...related], place: (i) => drawn.find((s) => s.i === i), paint,
  };
})();
