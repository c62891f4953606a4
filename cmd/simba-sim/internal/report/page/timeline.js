// ---- The view: which times and lanes lie where ----

const RULER = 26, TITLE = 20, BAND = 22, TASK = 12, GAP = 10; // heights, in pixels
const STUB = 30; // how far what is still so at the world's end reaches beyond it
const LETTER = 6.4; // about the width of one

const canvas = $('canvas'), box = $('timeline'), ctx = canvas.getContext('2d');
const calm = matchMedia('(prefers-reduced-motion: reduce)');
const whole = { from: 0, to: 0 }, view = { from: 0, to: 0 };
const hidden = new Set(); // kinds that are switched off
const isShown = e => !hidden.has(e.kind);
let width = 0, height = 0, gutter = 0, chosen = -1, hovered = null, pointer = null, painting = false, flight = 0;

const isWhole = () => (view.to - view.from) * 1.0001 >= whole.to - whole.from;
const xOf = at => gutter + (at - view.from) / (view.to - view.from) * (width - gutter);
const timeAt = x => view.from + (x - gutter) / (width - gutter) * (view.to - view.from);

function show(from, to) {
	const span = Math.min(Math.max(to - from, 1e3), whole.to - whole.from);
	view.from = Math.min(Math.max((from + to - span) / 2, whole.from), whole.to - span);
	view.to = view.from + span;
	draw();
}
// glide shows a time by a short movement, which the next one, or the reader, cuts short.
function glide(from, to) {
	const start = { ...view }, begun = performance.now(), mine = ++flight;
	const step = now => {
		if (mine !== flight) return;
		const part = calm.matches ? 1 : Math.min((now - begun) / 300, 1), eased = part * part * (3 - 2 * part);
		show(start.from + (from - start.from) * eased, start.to + (to - start.to) * eased);
		if (part < 1) requestAnimationFrame(step);
	};
	requestAnimationFrame(step);
}
function zoom(factor, x = (gutter + width) / 2) {
	const at = timeAt(x);
	flight++;
	show(at - (at - view.from) * factor, at + (view.to - at) * factor);
}
function pan(part) {
	const by = (view.to - view.from) * part;
	flight++;
	show(view.from + by, view.to + by);
}
function showViolation() {
	const back = Math.min(Math.max(violation.at - violation.from, 1e6), length * 0.4);
	choose(entries.findLastIndex(e => e.kind === 'violation'));
	box.scrollIntoView({ block: 'center', behavior: calm.matches ? 'auto' : 'smooth' });
	glide(violation.at - back, violation.at + back * 0.15);
}

// place gives lanes and rows their heights: a row takes only the strips that it needs.
function place() {
	const used = new Set(entries.map(e => `${e.kind} ${e.lane} ${e.row}`));
	let y = RULER;
	lanes.forEach((lane, l) => {
		lane.y = y;
		lane.wire = 0;
		y += TITLE;
		lane.rows.forEach((row, r) => {
			const has = kind => used.has(`${kind} ${l} ${r}`);
			row.bandY = y;
			row.bandH = row.session ? 9 : row.states.length || row.terms.length ? BAND : 0;
			y += row.bandH;
			if (row.session) lane.wire = y - 4.5; // a client's messages are those of its session
			row.flagY = y + 6;
			y += has('callback') ? 12 : row.session ? 0 : 3;
			row.taskY = y;
			row.taskH = row.tasks.length || has('write') ? TASK : 0;
			y += row.taskH + GAP;
		});
		if (!lane.wire) { lane.wire = y + 2; y += GAP + 4; }
		lane.end = y;
	});
	height = y + 4;
}

function yOf(e) {
	const lane = lanes[e.lane], row = lane.rows[e.row];
	if (e.kind === 'message') return lane.wire;
	if (!row) return lane.y + TITLE / 2;
	if (e.kind === 'callback') return row.flagY;
	return e.kind === 'write' || e.kind === 'task' ? row.taskY + TASK / 2 : row.bandY + row.bandH / 2;
}

// segment is the line of a message. One that is lost does not get far.
function segment(e) {
	const x = xOf(e.at), from = lanes[e.lane].wire, to = e.to < 0 ? from + 20 : lanes[e.to].wire;
	return e.until ? [x, from, xOf(e.until), to] : [x, from, x + 7, from + Math.sign(to - from) * 15];
}

// ---- Painting ----

function draw() {
	if (painting) return;
	painting = true;
	requestAnimationFrame(() => { painting = false; paint(); });
}

function paint() {
	const ticks = ticksInView();
	ctx.setTransform(sharp(), 0, 0, sharp(), 0, 0);
	ctx.fillStyle = colour.card;
	ctx.fillRect(0, 0, width, canvas.height);
	ctx.translate(0, -box.scrollTop);
	lanes.forEach(paintLane);
	paintGrid(ticks);
	paintLines();
	for (const lane of lanes) lane.rows.forEach(paintRow);
	paintEnd();
	paintMarks();
	paintChosen();
	paintGutter();
	ctx.translate(0, box.scrollTop);
	paintRuler(ticks);
	frameMinimap();
}

// visible calls f with the pixels of the bands in view, and leaves out what the band before it covers.
function visible(bands, f) {
	let last = -1;
	for (const b of bands) {
		if (b.from > view.to || b.to < view.from && !b.open) continue;
		const x0 = Math.max(xOf(b.from), gutter - 8), x1 = Math.min(xOf(b.to) + (b.open ? STUB : 0), width + 8);
		if (x1 - last < 0.5) continue;
		last = x1;
		f(b, x0, x1 - x0);
	}
}

// label writes the longest of some texts that fits.
function label(texts, x, y, w, { ink, bold, back }) {
	const left = Math.max(x, gutter), text = texts.find(t => t.length * LETTER + 10 < x + w - left);
	if (!text) return;
	ctx.font = (bold ? '600 ' : '') + '11px system-ui, sans-serif';
	const wide = ctx.measureText(text).width;
	if (back) { ctx.fillStyle = colour.card; ctx.fillRect(left + 3, y - 7, wide + 6, 14); }
	ctx.fillStyle = colour[ink];
	ctx.fillText(text, left + 6, y);
	return left + wide + 14;
}

function paintLane(lane, l) {
	if (l % 2 === 0) {
		ctx.fillStyle = colour.faint;
		ctx.globalAlpha = 0.45;
		ctx.fillRect(gutter, lane.y, width, lane.end - lane.y);
		ctx.globalAlpha = 1;
	}
	if (hidden.has('fault')) return;
	let free = 0; // where the last label ended
	visible(lane.faults, (b, x, w) => {
		const look = faults[b.state], to = entries[b.entry].to, what = to < 0 ? b.state : `${b.state} off from ${lanes[to].node}`;
		paintFault(ctx, look, x, lane.y + 1, w, lane.end - lane.y - 2);
		const left = Math.max(x, free), long = b.open ? what : `${what} for ${brief(b.to - b.from)}`;
		free = label([long, what, b.state], left, lane.y + 11, x + w - left, { ink: look.hatch, bold: true, back: true }) || free;
	});
}

function paintRow(row) {
	const middle = row.bandY + row.bandH / 2;
	const bands = (list, lookOf, y, h) => visible(list, (b, x, w) => {
		const look = lookOf(b.state);
		paintBand(ctx, look, x, y, w, h);
		if (look.label) label([look.label], x, middle, w, { ink: 'muted', back: !!look.hatch });
	});
	if (!hidden.has(row.session ? 'session' : 'election')) {
		bands(row.states, state => looks[state] || looks.candidate, row.bandY, row.bandH);
		bands(row.stale, () => looks.stale, row.bandY, row.bandH);
	}
	if (!hidden.has('term')) visible(row.terms, (b, x, w) => paintTerm(row, looks.term, b, x, w));
	if (!hidden.has('task')) {
		bands(row.tasks, state => looks[state] || looks.running, row.taskY, TASK);
		bands(row.overran, () => looks.overran, row.taskY, TASK);
	}
}

// paintTerm leaves the lower edge of the row to the state of the election beneath.
function paintTerm(row, look, b, x, w) {
	const name = 'term ' + b.token;
	paintBand(ctx, look, x, row.bandY, w, BAND - 5);
	label([b.open ? name + ', still valid' : `${name}, valid for ${brief(b.to - b.from)}`, name, b.token], x, row.bandY + 9, w, { ink: look.ink, bold: true });
}

// linesInView are the messages in view, and the way of writes to the resource, by their colour.
function linesInView() {
	const lines = new Map(), last = new Map();
	for (const e of entries) {
		const write = e.kind === 'write' && e.to >= 0;
		if (!write && e.kind !== 'message' || !isShown(e) || e.at > view.to || Math.max(e.until || 0, e.at) < view.from) continue;
		const name = write ? (isBad(e) ? 'bad' : 'ok') : fates[e.state] || 'message', key = `${name} ${e.lane} ${e.to} ${e.until ? 1 : 0}`;
		const ends = write ? [xOf(e.at), yOf(e), xOf(e.at), lanes[e.to].wire] : segment(e), before = last.get(key);
		if (before && Math.abs(before[0] - ends[0]) < 1 && Math.abs(before[2] - ends[2]) < 1) continue; // the one before covers it
		last.set(key, ends);
		const style = (write ? 'write ' : '') + name;
		if (!lines.has(style)) lines.set(style, { name, write, all: [] });
		lines.get(style).all.push({ state: e.state, ends });
	}
	return [...lines.values()].sort((a, b) => b.all.length - a.all.length); // the rare on top
}

function paintLines() {
	for (const { name, write, all } of linesInView()) {
		// Where there are many they fade, or nothing else would be seen.
		ctx.globalAlpha = write ? 0.4 : Math.min(0.9, Math.max(0.12, 0.04 * width / all.length));
		ctx.strokeStyle = ctx.fillStyle = colour[name];
		ctx.lineWidth = name === 'message' || write ? 1 : 1.5;
		ctx.beginPath();
		for (const { state, ends } of all) {
			const [x0, y0, x1, y1] = ends;
			if (Math.abs(x1 - x0) > 1.5) pathMessage(ctx, state, ...ends);
			else ctx.fillRect(x0, Math.min(y0, y1), ctx.lineWidth, Math.abs(y1 - y0)); // a browser is ten times faster at these
		}
		ctx.stroke();
	}
	ctx.globalAlpha = 1;
}

function paintMarks() {
	const last = new Map(), marks = entries.filter(e => isMark(e) && isShown(e) && e.at >= view.from && e.at <= view.to);
	for (const e of [...marks.filter(e => !isBad(e)), ...marks.filter(isBad)]) { // what was refused on top
		const x = xOf(e.at), y = yOf(e), key = y + e.state;
		if (x - last.get(key) < 3) continue;
		last.set(key, x);
		if (e.to >= 0 && e.kind === 'write') paintMark(ctx, e, x, lanes[e.to].wire);
		paintMark(ctx, e, x, y);
	}
}

function paintUpright(at, name, thick, dash) {
	ctx.beginPath();
	ctx.setLineDash(dash);
	ctx.strokeStyle = colour[name];
	ctx.lineWidth = thick;
	ctx.moveTo(xOf(at), RULER); ctx.lineTo(xOf(at), height);
	ctx.stroke();
	ctx.setLineDash([]);
}

// paintEnd dims what is beyond the world's end, but not what went wrong there.
function paintEnd() {
	const x = Math.max(xOf(length), gutter);
	ctx.globalAlpha = 0.5;
	ctx.fillStyle = colour.bg;
	ctx.fillRect(x, RULER, Math.max(width - x, 0), height);
	ctx.globalAlpha = 1;
	paintUpright(length, 'line', 1, []);
	if (!violation) return;
	paintUpright(violation.at, 'bad', 2.5, []);
	for (const lane of lanes) for (const row of lane.rows) visible(row.clash, (b, x, w) => paintTerm(row, looks.clash, b, x, w));
}

function paintChosen() {
	for (const i of [hovered && !hovered.band ? hovered.entry : -1, chosen]) {
		if (i < 0) continue;
		const e = entries[i];
		ctx.strokeStyle = colour.accent;
		ctx.lineWidth = 2.5;
		ctx.beginPath();
		if (e.kind === 'message') pathMessage(ctx, e.state, ...segment(e)); else ctx.arc(xOf(e.at), yOf(e), 9, 0, 7);
		ctx.stroke();
	}
	if (chosen >= 0) paintUpright(entries[chosen].at, 'accent', 1, [4, 3]);
}

// ticksInView are the times that the ruler names: round ones, far enough apart to be read.
function ticksInView() {
	const least = (view.to - view.from) / (width - gutter) * 96, power = 10 ** Math.floor(Math.log10(least));
	const steps = least < 1e9 ? [1, 2, 5, 10].map(f => f * power)
		: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200].map(s => s * 1e9);
	const step = steps.find(s => s >= least) || Math.ceil(least / 86400e9) * 86400e9, ticks = [];
	for (let t = Math.ceil(Math.max(view.from, 0) / step) * step; t <= Math.min(view.to, length); t += step) ticks.push(t);
	return ticks;
}

function paintGrid(ticks) {
	ctx.strokeStyle = colour.line;
	ctx.lineWidth = 1;
	ctx.beginPath();
	for (const x of ticks.map(t => Math.round(xOf(t)) + 0.5)) { ctx.moveTo(x, RULER); ctx.lineTo(x, height); }
	for (const lane of lanes) { ctx.moveTo(0, lane.end + 0.5); ctx.lineTo(width, lane.end + 0.5); }
	ctx.stroke();
}

function paintRuler(ticks) {
	ctx.fillStyle = colour.card;
	ctx.fillRect(0, 0, width, RULER);
	ctx.font = '11px system-ui, sans-serif';
	ctx.fillStyle = colour.muted;
	for (const t of ticks) if (xOf(t) + 50 < width) ctx.fillText(clock(t), xOf(t) + 4, 13);
	const flag = (at, name, ink) => {
		const x = xOf(at), text = clock(at), w = ctx.measureText(text).width + 12, left = Math.min(x, width - w);
		if (x < gutter || x > width) return;
		ctx.fillStyle = colour[name]; ctx.fillRect(left, 3, w, RULER - 7);
		ctx.fillStyle = colour[ink]; ctx.fillText(text, left + 6, 13);
	};
	if (violation) flag(violation.at, 'bad', 'on-bad');
	if (chosen >= 0) flag(entries[chosen].at, 'accent', 'card');
	if (pointer) flag(timeAt(pointer.x), 'line', 'ink');
	ctx.fillStyle = colour.line;
	ctx.fillRect(0, RULER - 1, width, 1);
	ctx.fillRect(gutter - 1, 0, 1, RULER);
}

function paintGutter() {
	const write = (text, x, y, letter) => {
		const room = Math.floor((gutter - x - 6) / letter);
		ctx.fillText(text.length > room ? text.slice(0, room - 1) + '…' : text, x, y);
	};
	ctx.fillStyle = colour.card;
	ctx.fillRect(0, 0, gutter, height);
	for (const lane of lanes) {
		ctx.fillStyle = colour.line;
		ctx.fillRect(0, lane.end, gutter, 1);
		ctx.fillStyle = colour.ink;
		ctx.font = '600 13px system-ui, sans-serif';
		write(lane.node, 12, lane.y + 12, 7.4);
		ctx.fillStyle = colour.muted;
		ctx.font = '11px system-ui, sans-serif';
		for (const row of lane.rows) {
			if (row.bandH) write(row.session ? 'session' : row.name, 18, row.bandY + row.bandH / 2, LETTER);
			if (row.taskH) write(row.tasks.length ? 'task' : row.name, 18, row.taskY + TASK / 2, LETTER);
		}
	}
	ctx.fillStyle = colour.line;
	ctx.fillRect(gutter - 1, 0, 1, height);
}

// ---- The minimap ----

const across = at => (at - whole.from) / (whole.to - whole.from);

function frameMinimap() {
	const frame = $('minimap').lastElementChild;
	frame.style.left = across(view.from) * 100 + '%';
	frame.style.width = (view.to - view.from) / (whole.to - whole.from) * 100 + '%';
}

function paintMinimap() {
	const map = $('minimap').firstElementChild, c = map.getContext('2d'), w = map.clientWidth, h = map.clientHeight;
	const slot = (h - 8) / lanes.length, thick = Math.max(Math.min(slot - 1, 9), 1);
	map.width = w * sharp();
	map.height = h * sharp();
	c.scale(sharp(), sharp());
	const bar = (l, from, to, name, size) => {
		c.fillStyle = colour[name];
		c.fillRect(across(from) * w, 4 + (l + 0.5) * slot - size / 2, Math.max(across(to) * w - across(from) * w, 1.5), size);
	};
	lanes.forEach((lane, l) => {
		c.globalAlpha = 0.4;
		for (const b of lane.faults) bar(l, b.from, b.to, faults[b.state].hatch, thick);
		c.globalAlpha = 1;
		for (const row of lane.rows) for (const b of row.terms) bar(l, b.from, b.to, 'term', thick * 0.6);
	});
	for (const e of entries) if (isBad(e)) bar(e.lane, e.at, e.at, 'bad', thick);
	if (violation) { c.fillStyle = colour.bad; c.fillRect(across(violation.at) * w - 1, 0, 3, h); }
}
