// Draws a trace on a canvas: nodes as lanes, messages as arrows, phases as bands, faults as marks. Knows what lies under a
// point, and which time is shown; pointers and keys are dealt with by timeline.js.

const kAxis = 26, kGutter = 74, kBand = 18, kQuietBand = 6, kMarks = 17, kLeastLane = 46, kMostLane = 150;
const kMostArrows = 2500;    // that one can tell apart; more are shown as how many there are
const kNear = 6;             // pixels: what counts as under the pointer
const kLeastSpan = 1e-5;     // seconds
const kHues = [95, 172, 28, 262, 350, 300, 190, 145, 214, 46, 325, 240];

/** Where in a list sorted by `field` the first one lies that is not before `value`. */
export function lowerBound(list, field, value) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle][field] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The same colour for the same name, in every trace. */
export function hueOf(name) {
  let hash = 11;
  for (const letter of name) hash = (hash * 33 + letter.codePointAt(0)) % 9973;
  return kHues[hash % kHues.length];
}

/** Seconds with as many digits as the steps between two ticks need. */
function timeText(seconds, step) {
  const digits = step >= 1 ? 0 : Math.min(6, Math.ceil(-Math.log10(step)));
  return `${seconds.toFixed(digits)} s`;
}

function tickStep(span, width) {
  const raw = (span * 110) / Math.max(width, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= raw);
}

export class TimelineView {
  constructor(canvas, drawn) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.drawn = drawn;      // called after each drawing with what was drawn
    this.trace = null;
    this.selected = -1;
    this.hovered = -1;
    this.start = 0;
    this.span = 1;
    this.waiting = false;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(canvas.parentNode);
  }

  show(trace) {
    this.trace = trace;
    this.selected = this.hovered = -1;
    this.fit();
  }

  // --- which time is shown

  get width() { return Math.max(1, this.canvas.clientWidth - kGutter); }
  x(time) { return kGutter + ((time - this.start) / this.span) * this.width; }
  timeAt(x) { return this.start + ((x - kGutter) / this.width) * this.span; }

  setRange(start, span) {
    const most = Math.max(this.trace.end, kLeastSpan) * 1.02;
    this.span = Math.min(Math.max(span, kLeastSpan), most);
    this.start = Math.min(Math.max(start, -0.01 * most), Math.max(-0.01 * most, most - this.span));
    this.redraw();
  }
  fit() { this.setRange(-0.01 * this.trace.end, Infinity); }
  zoom(factor, x = kGutter + this.width / 2) {
    const at = this.timeAt(x);
    const span = Math.max(this.span * factor, kLeastSpan);
    this.setRange(at - (at - this.start) * (span / this.span), span);
  }
  pan(pixels) { this.setRange(this.start + (pixels / this.width) * this.span, this.span); }
  /** Moves as little as is needed to see an event. */
  reveal(index) {
    const {at} = this.trace.events[index];
    if (at < this.start + this.span * 0.04 || at > this.start + this.span * 0.96) this.setRange(at - this.span / 2, this.span);
  }
  select(index) {
    this.selected = index;
    if (index >= 0) this.reveal(index);
    this.redraw();
  }
  hover(index) {
    if (index === this.hovered) return;
    this.hovered = index;
    this.redraw();
  }

  // --- where things lie

  arrange() {
    const {lanes, rows, marks} = this.trace;
    let below = 0;
    const tops = rows.map((row) => (below += row.quiet ? kQuietBand : kBand) - (row.quiet ? kQuietBand : kBand));
    const shared = marks.some((mark) => mark.lane < 0) ? kMarks + 8 : 0;
    const room = this.canvas.parentNode.clientHeight - kAxis - shared - 8;
    const lane = Math.min(kMostLane, Math.max(kLeastLane, kMarks + below + 16, room / Math.max(lanes.length, 1)));
    this.places = {shared, lane, tops, rows: Math.max(below, kQuietBand), height: kAxis + shared + lane * lanes.length + 8};
  }
  laneTop(lane) { return lane < 0 ? kAxis : kAxis + this.places.shared + lane * this.places.lane; }
  bandTop(band) { return this.laneTop(band.lane) + kMarks + 2 + this.places.tops[band.row]; }
  bandHeight(band) { return this.trace.rows[band.row].quiet ? kQuietBand - 2 : kBand - 2; }
  /** Where arrows touch a lane: below its bands if they come from below. */
  touch(lane, other) {
    const top = this.laneTop(lane) + kMarks + 2;
    return other > lane ? top + this.places.rows : top;
  }
  ends(arrow) {
    const [x1, x2] = [this.x(arrow.start), this.x(arrow.end)];
    const [y1, y2] = [this.touch(arrow.from, arrow.to), this.touch(arrow.to, arrow.from)];
    if (arrow.fate === "arrives") return {x1, y1, x2, y2};
    const share = arrow.fate === "lost" && arrow.end > arrow.start ? 0.86 : 0.4;
    return {x1, y1, x2: arrow.end > arrow.start ? x1 + (x2 - x1) * share : x1, y2: y1 + (y2 - y1) * share};
  }
  arrowsIn(start, end) {
    const {arrows, longestFlight} = this.trace;
    const found = [];
    for (let i = lowerBound(arrows, "start", start - longestFlight); i < arrows.length && arrows[i].start <= end; ++i)
      if (arrows[i].end >= start) found.push(arrows[i]);
    return found;
  }

  /** The event under a point, or -1. */
  at(x, y) {
    if (!this.trace || !this.places || x < kGutter) return -1;
    const near = (kNear / this.width) * this.span, time = this.timeAt(x);
    const marks = this.trace.marks.slice(lowerBound(this.trace.marks, "at", time - near), lowerBound(this.trace.marks, "at", time + near))
        .filter((mark) => y >= this.laneTop(mark.lane) && y <= this.laneTop(mark.lane) + kMarks + 2);
    if (marks.length) return nearest(marks, (mark) => Math.abs(mark.at - time)).event;
    const band = this.trace.bands.find((one) => one.start <= time && time < one.end && y >= this.bandTop(one) && y < this.bandTop(one) + this.bandHeight(one));
    if (band) return band.event;
    if (this.dense) return -1;
    const arrows = this.arrowsIn(time - near, time + near).map((arrow) => ({arrow, distance: distanceTo(this.ends(arrow), x, y)}));
    const best = arrows.length ? nearest(arrows, (one) => one.distance) : null;
    return best && best.distance <= kNear ? best.arrow.event : -1;
  }

  // --- drawing

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (this.trace && this.canvas.parentNode.clientWidth > 0) this.draw();
    });
  }

  colours() {
    const style = getComputedStyle(this.canvas);
    const of = (name) => style.getPropertyValue(`--${name}`).trim();
    const names = ["panel", "raised", "line", "ink", "soft", "faint", "accent", "bad", "warn", "calm", "mono", "sans"];
    this.c = Object.fromEntries(names.map((name) => [name, of(name)]));
    this.dark = matchMedia("(prefers-color-scheme: dark)").matches;
  }

  draw() {
    this.arrange();
    this.colours();
    const {canvas, context} = this, scale = devicePixelRatio || 1;
    const height = Math.max(this.places.height, canvas.parentNode.clientHeight);
    canvas.style.height = `${height}px`;
    const [w, h] = [Math.round(canvas.clientWidth * scale), Math.round(height * scale)];
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, w, h);
    context.lineWidth = 1;
    this.drawGround(height);
    context.save();
    context.beginPath();
    context.rect(kGutter, 0, this.width, height);
    context.clip();
    this.drawAbsences();
    const arrows = this.drawMessages();
    const bands = this.drawBands();
    const marks = this.drawMarks(height);
    this.drawChosen(height);
    context.restore();
    this.drawAxis();
    this.drawLabels();
    this.drawn({lanes: this.trace.lanes.length, arrows, bands, marks, dense: this.dense});
  }

  drawGround(height) {
    const {context, c} = this;
    const step = tickStep(this.span, this.width);
    context.fillStyle = c.raised;
    this.trace.lanes.forEach((_, lane) => lane % 2 === 0 && context.fillRect(0, this.laneTop(lane), this.canvas.clientWidth, this.places.lane));
    context.fillStyle = c.line;
    for (let tick = Math.ceil(this.start / step); tick * step <= this.start + this.span; ++tick) {
      const x = this.x(tick * step);
      if (x >= kGutter) context.fillRect(x, kAxis - 6, 1, height);
    }
  }

  drawAxis() {
    const {context, c} = this;
    const step = tickStep(this.span, this.width);
    context.fillStyle = c.panel;
    context.fillRect(0, 0, kGutter, kAxis);
    context.font = `11px ${c.sans}`;
    context.fillStyle = c.faint;
    context.textAlign = "center";
    for (let tick = Math.ceil(this.start / step); tick * step <= this.start + this.span; ++tick) {
      const x = this.x(tick * step);
      if (x >= kGutter + 16 && tick >= 0) context.fillText(timeText(tick * step, step), x, 14);
    }
  }

  drawLabels() {
    const {context, c} = this;
    context.textAlign = "left";
    if (this.places.shared) {
      context.font = `11px ${c.sans}`;
      context.fillStyle = c.faint;
      context.fillText("all nodes", 12, kAxis + 14);
    }
    context.font = `600 13px ${c.sans}`;
    context.fillStyle = c.ink;
    this.trace.lanes.forEach((name, lane) => context.fillText(name, 12, this.laneTop(lane) + kMarks + 15, kGutter - 16));
  }

  drawAbsences() {
    const {context, c} = this;
    for (const absence of this.trace.absences) {
      const x1 = Math.max(kGutter, this.x(absence.start)), x2 = Math.min(this.x(absence.end), kGutter + this.width);
      if (x2 <= x1) continue;
      const top = this.laneTop(absence.lane) + 2, height = this.places.lane - 4;
      context.save();
      context.beginPath();
      context.rect(x1, top, x2 - x1, height);
      context.clip();
      context.strokeStyle = absence.what === "down" ? c.bad : c.warn;
      context.globalAlpha = 0.28;
      context.beginPath();
      for (let x = Math.floor((x1 - height) / 8) * 8; x < x2; x += 8) {
        context.moveTo(x, top + height);
        context.lineTo(x + height, top);
      }
      context.stroke();
      context.restore();
    }
  }

  /** Few messages as arrows, many as how many were sent in each pixel's time. Returns the number of arrows. */
  drawMessages() {
    const arrows = this.arrowsIn(this.start, this.start + this.span);
    this.dense = arrows.length > kMostArrows;
    if (this.dense) {
      this.drawDensity(arrows);
      return 0;
    }
    const {context, c} = this;
    for (const fate of ["arrives", "under way", "lost"]) {
      context.strokeStyle = context.fillStyle = fate === "lost" ? c.bad : c.calm;
      context.globalAlpha = arrows.length > 400 ? 0.4 : arrows.length > 100 ? 0.65 : 0.9;
      context.setLineDash(fate === "under way" ? [4, 3] : []);
      for (const arrow of arrows) if (arrow.fate === fate) this.drawArrow(arrow, arrows.length < 400);
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
    return arrows.length;
  }

  drawArrow(arrow, withHead) {
    const {context} = this, {x1, y1, x2, y2} = this.ends(arrow);
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    if (arrow.fate === "lost") {
      for (const [dx, dy] of [[3, 3], [3, -3]]) {
        context.moveTo(x2 - dx, y2 - dy);
        context.lineTo(x2 + dx, y2 + dy);
      }
    }
    context.stroke();
    if (!withHead || arrow.fate !== "arrives") return;
    const angle = Math.atan2(y2 - y1, x2 - x1);
    context.beginPath();
    context.moveTo(x2, y2);
    for (const turn of [2.75, -2.75]) context.lineTo(x2 + 7 * Math.cos(angle + turn), y2 + 7 * Math.sin(angle + turn));
    context.fill();
  }

  drawDensity(arrows) {
    const {context, c} = this, columns = Math.ceil(this.width / 2);
    const counts = this.trace.lanes.map(() => new Uint32Array(columns)), lost = this.trace.lanes.map(() => new Uint32Array(columns));
    for (const arrow of arrows) {
      const column = Math.floor((this.x(arrow.start) - kGutter) / 2);
      if (column < 0 || column >= columns) continue;
      ++counts[arrow.from][column];
      if (arrow.fate === "lost") ++lost[arrow.from][column];
    }
    const most = Math.max(1, ...counts.map((list) => list.reduce((a, b) => Math.max(a, b), 0)));
    counts.forEach((list, lane) => {
      const bottom = this.laneTop(lane) + this.places.lane - 3;
      const room = bottom - (this.laneTop(lane) + kMarks + 6 + this.places.rows);
      for (const [values, colour] of [[list, c.calm], [lost[lane], c.bad]]) {
        context.fillStyle = colour;
        context.globalAlpha = colour === c.bad ? 0.85 : 0.45;
        values.forEach((value, column) => {
          const height = value ? Math.max(1.5, (room * Math.log1p(value)) / Math.log1p(most)) : 0;
          if (height) context.fillRect(kGutter + column * 2, bottom - height, 1.6, height);
        });
      }
    });
    context.globalAlpha = 1;
  }

  drawBands() {
    const {context, c} = this;
    let drawn = 0;
    context.font = `560 11px ${c.sans}`;
    context.textAlign = "left";
    for (const band of this.trace.bands) {
      if (band.end < this.start || band.start > this.start + this.span) continue;
      ++drawn;
      const x1 = Math.max(kGutter - 4, this.x(band.start)), x2 = Math.min(this.x(band.end), kGutter + this.width + 4);
      const width = Math.max(1, x2 - x1 - 0.8), top = this.bandTop(band), height = this.bandHeight(band), hue = hueOf(band.phase);
      const colour = this.dark ? `hsl(${hue} 36% 32%)` : `hsl(${hue} 55% 83%)`;
      context.fillStyle = this.trace.rows[band.row].quiet ? c.line : colour;
      context.beginPath();
      context.roundRect(x1, top, width, height, Math.min(4, width / 2, height / 2));
      context.fill();
      const left = Math.max(x1, kGutter) + 6;
      if (width < 26 || height < kBand - 2 || context.measureText(band.phase).width > x2 - left - 4) continue;
      context.fillStyle = this.dark ? `hsl(${hue} 70% 88%)` : `hsl(${hue} 65% 24%)`;
      context.fillText(band.phase, left, top + 12);
    }
    return drawn;
  }

  drawMarks(height) {
    const {context, c, trace} = this;
    let faults = 0;
    const last = lowerBound(trace.marks, "at", this.start + this.span);
    for (let i = lowerBound(trace.marks, "at", this.start); i < last; ++i) {
      const mark = trace.marks[i], x = this.x(mark.at), y = this.laneTop(mark.lane) + kMarks / 2 + 2;
      context.fillStyle = {fault: c.warn, broken: c.bad, actor: c.bad, note: c.faint}[mark.kind];
      context.beginPath();
      if (mark.kind === "fault") {
        ++faults;
        context.moveTo(x, y - 6);
        context.lineTo(x + 5, y);
        context.lineTo(x, y + 6);
        context.lineTo(x - 5, y);
      } else if (mark.kind === "broken") {
        context.rect(x - 1, kAxis, 2, height);
        context.rect(x - 6, y - 6, 12, 12);
      } else {
        context.arc(x, y, mark.kind === "actor" ? 4 : 2.5, 0, 7);
      }
      context.fill();
    }
    return faults;
  }

  /** The selected event, and the one under the pointer. */
  drawChosen(height) {
    const {context, c, trace} = this;
    for (const index of [this.hovered, this.selected]) {
      if (index < 0) continue;
      const event = trace.events[index];
      context.fillStyle = context.strokeStyle = c.accent;
      context.globalAlpha = index === this.selected ? 0.9 : 0.35;
      context.fillRect(this.x(event.at) - 0.5, kAxis - 6, 1, height);
      context.globalAlpha = 1;
      context.lineWidth = 2;
      for (const arrow of this.arrowsIn(event.at, event.at))
        if (arrow.event === index || (event.kind === "send" && trace.events[arrow.event].message === event.message)) this.drawArrow(arrow, true);
      const band = trace.bands.find((one) => one.event === index);
      if (band) context.strokeRect(this.x(band.start), this.bandTop(band) - 1, Math.max(2, this.x(band.end) - this.x(band.start)), this.bandHeight(band) + 2);
      const mark = trace.marks.find((one) => one.event === index);
      if (mark) context.strokeRect(this.x(mark.at) - 8, this.laneTop(mark.lane) + 2, 16, kMarks);
      context.lineWidth = 1;
    }
  }
}

function nearest(list, distance) {
  return list.reduce((best, one) => (distance(one) < distance(best) ? one : best));
}

function distanceTo({x1, y1, x2, y2}, x, y) {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const length = dx * dx + dy * dy;
  const share = length ? Math.min(1, Math.max(0, ((x - x1) * dx + (y - y1) * dy) / length)) : 0;
  return Math.hypot(x - x1 - share * dx, y - y1 - share * dy);
}
