'use strict';
// Draws the timeline and the list of a story. layout.go has decided what lies where in time; here it becomes pixels.
// The timeline is a canvas, because a story has tens of thousands of marks; the list below says the same as text.
(() => {
const $ = id => document.getElementById(id);
const story = JSON.parse($('data').textContent);
const { entries, lanes, length, violation } = story;
const canvas = $('canvas'), box = $('timeline'), ctx = canvas.getContext('2d');
const list = $('list'), rows = $('rows'), tip = $('tip');
const RULER = 26, TITLE = 20, BAND = 22, TASK = 12, MARK = 5, LETTER = 6.3;
const calm = matchMedia('(prefers-reduced-motion: reduce)');

// ---- Words ----

const short = (value, digits) => String(+value.toFixed(digits));

// clock writes nanoseconds as Go writes durations, to the microsecond.
function clock(ns) {
	ns = Math.round(ns);
	if (ns < 0) return '-' + clock(-ns);
	if (ns === 0) return '0s';
	if (ns < 1e3) return ns + 'ns';
	if (ns < 1e6) return short(ns / 1e3, 3) + 'µs';
	if (ns < 1e9) return short(ns / 1e6, 3) + 'ms';
	return minutes(ns) + short(ns % 60e9 / 1e9, 6) + 's';
}
function minutes(ns) {
	const h = Math.floor(ns / 3600e9), m = Math.floor(ns / 60e9) % 60;
	return (h ? h + 'h' : '') + (h || m ? m + 'm' : '');
}
const stamp = ns => minutes(ns) + (ns % 60e9 / 1e9).toFixed(3) + 's'; // as wide as its neighbours in a list

const trouble = e => e.state === 'lost' || e.state === 'late' || e.state === 'doubled' || e.state === 'refused' || e.kind === 'violation';
const ordinary = e => e.kind === 'message' && !trouble(e);

function about(e) {
	const parts = [clock(e.at), lanes[e.lane].node + (e.to >= 0 ? ' → ' + lanes[e.to].node : ''), e.kind + (e.state ? ' ' + e.state : '')];
	if (e.name) parts.push(e.name);
	if (e.token) parts.push('token ' + e.token);
	if (e.until) parts.push('under way for ' + clock(e.until - e.at));
	return parts.join(' · ');
}

// ---- Looks: one place for the timeline and its legend ----

let colour = {};
const patterns = new Map();
function readColours() {
	const style = getComputedStyle(document.documentElement);
	for (const name of ['bg', 'card', 'ink', 'muted', 'line', 'faint', 'accent', 'term', 'on-term', 'lead', 'wait', 'stale', 'session', 'warn',
		'task', 'over', 'ok', 'bad', 'on-bad', 'late', 'double', 'message', 'pause', 'crash', 'cut', 'sleep']) colour[name] = style.getPropertyValue('--' + name).trim();
	patterns.clear();
}

const looks = {
	__proto__: null,
	opening: { hatch: 'session' }, live: { fill: 'session' }, suspended: { fill: 'warn' },
	candidate: { fill: 'wait', label: 'candidate' }, waiting: { fill: 'wait', label: 'waiting' },
	leader: { fill: 'lead' }, held: { fill: 'lead' },
	'stepping down': { fill: 'lead', hatch: 'term', label: 'stepping down' }, releasing: { fill: 'lead', hatch: 'term', label: 'releasing' },
	stopped: { label: 'stopped' }, over: { label: 'over' },
	stale: { fill: 'card', hatch: 'stale', label: 'no valid term', border: 'stale' },
	term: { fill: 'term', ink: 'on-term' }, clash: { fill: 'bad', ink: 'on-bad' },
	running: { fill: 'task' }, cancelled: { fill: 'wait', hatch: 'task' }, overran: { fill: 'card', hatch: 'over', border: 'over' },
	paused: { hatch: 'pause' }, suspended_machine: { hatch: 'sleep' }, crashed: { hatch: 'crash', back: true }, cut: { hatch: 'cut', back: true }, outage: { hatch: 'crash' },
};
const fates = { __proto__: null, sent: 'message', late: 'late', doubled: 'double', lost: 'bad' };
const faultLook = b => looks[b.state === 'suspended' ? 'suspended_machine' : b.state] || looks.outage;

// hatch is a pattern of slanted lines, so that what is hatched can be told apart without its colour.
function hatch(name, back) {
	const key = name + back;
	if (patterns.has(key)) return patterns.get(key);
	const dpr = devicePixelRatio || 1, tile = document.createElement('canvas'), size = Math.round(7 * dpr);
	tile.width = tile.height = size;
	const t = tile.getContext('2d');
	t.strokeStyle = colour[name];
	t.lineWidth = 1.6 * dpr;
	t.beginPath();
	for (const shift of [-size, 0, size]) {
		t.moveTo(shift - 1, back ? -1 : size + 1);
		t.lineTo(shift + size + 1, back ? size + 1 : -1);
	}
	t.stroke();
	const pattern = ctx.createPattern(tile, 'repeat');
	pattern.setTransform(new DOMMatrix().scale(1 / dpr));
	patterns.set(key, pattern);
	return pattern;
}

function paintBand(c, look, x, y, w, h) {
	w = Math.max(w, 1);
	c.beginPath();
	if (w > 6) c.roundRect(x, y, w, h, Math.min(3, h / 2)); else c.rect(x, y, w, h);
	if (look.fill) { c.fillStyle = colour[look.fill]; c.fill(); }
	if (look.hatch) { c.fillStyle = hatch(look.hatch, look.back); c.fill(); }
	if (look.border && w > 3) { c.strokeStyle = colour[look.border]; c.lineWidth = 1; c.stroke(); }
}

function paintMark(c, e, x, y) {
	const bad = e.state === 'refused';
	c.beginPath();
	c.lineWidth = 1.6;
	if (e.kind === 'callback') {
		const up = e.state === 'revoked' ? -1 : 1;
		c.moveTo(x - MARK, y + 4 * up); c.lineTo(x + MARK, y + 4 * up); c.lineTo(x, y - 4 * up);
		c.fillStyle = colour.ink; c.fill();
		return;
	}
	if (e.kind === 'fault') {
		c.moveTo(x, y - 6); c.lineTo(x + 6, y); c.lineTo(x, y + 6); c.lineTo(x - 6, y);
		c.fillStyle = colour.cut; c.fill();
		return;
	}
	c.arc(x, y, bad ? 6.5 : MARK, 0, 7);
	c.fillStyle = colour[bad ? 'bad' : 'ok']; c.fill();
	c.strokeStyle = colour.card; c.lineWidth = 1; c.stroke();
	c.beginPath();
	c.strokeStyle = colour['on-bad']; c.lineWidth = 1.6;
	if (bad) { c.moveTo(x - 2.5, y - 2.5); c.lineTo(x + 2.5, y + 2.5); c.moveTo(x + 2.5, y - 2.5); c.lineTo(x - 2.5, y + 2.5); }
	else { c.strokeStyle = colour.card; c.moveTo(x - 2.3, y); c.lineTo(x - 0.5, y + 1.9); c.lineTo(x + 2.4, y - 1.8); }
	c.stroke();
}

function pathMessage(c, state, x0, y0, x1, y1) {
	c.moveTo(x0, y0); c.lineTo(x1, y1);
	if (state === 'lost') { c.moveTo(x1 - 4, y1 - 4); c.lineTo(x1 + 4, y1 + 4); c.moveTo(x1 + 4, y1 - 4); c.lineTo(x1 - 4, y1 + 4); }
	if (state === 'doubled') { c.moveTo(x0 + 3, y0); c.lineTo(x1 + 3, y1); }
}

// ---- The view: which times lie where ----

const margin = Math.max(length * 0.015, 1), whole = { from: -margin, to: length + margin };
const view = { ...whole };
let width = 0, height = 0, gutter = 0, chosen = -1, hovered = null, pointer = null, waiting = false, moving = 0;

const xOf = at => gutter + (at - view.from) / (view.to - view.from) * (width - gutter);
const timeAt = x => view.from + (x - gutter) / (width - gutter) * (view.to - view.from);

function show(from, to) {
	const span = Math.min(Math.max(to - from, 1e3), whole.to - whole.from);
	view.from = Math.min(Math.max((from + to - span) / 2, whole.from), whole.to - span);
	view.to = view.from + span;
	draw();
}
function jump() { moving++; } // stops a movement that is under way

function glide(from, to) {
	const start = { ...view }, begun = performance.now(), mine = ++moving;
	if (calm.matches) return show(from, to);
	const step = now => {
		if (mine !== moving) return;
		const part = Math.min((now - begun) / 320, 1), eased = part * part * (3 - 2 * part);
		// The span changes by a constant factor per frame: an even zoom.
		const span = (start.to - start.from) * ((to - from) / (start.to - start.from)) ** eased;
		const middle = (start.from + start.to) / 2 + ((from + to) / 2 - (start.from + start.to) / 2) * (1 - (span - (to - from)) / ((start.to - start.from) - (to - from) || 1) || eased);
		show(middle - span / 2, middle + span / 2);
		if (part < 1) requestAnimationFrame(step); else show(from, to);
	};
	requestAnimationFrame(step);
}
function zoom(factor, x = (gutter + width) / 2) {
	const at = timeAt(x);
	jump();
	show(at - (at - view.from) * factor, at + (view.to - at) * factor);
}
function pan(part) { const by = (view.to - view.from) * part; jump(); show(view.from + by, view.to + by); }
function showViolation() {
	const back = Math.max(violation.at - violation.from, 1e6);
	glide(violation.at - back * 1.1, violation.at + back * 0.25);
	box.scrollIntoView({ block: 'nearest', behavior: calm.matches ? 'auto' : 'smooth' });
}

// ---- The place of lanes and rows ----

function place() {
	const used = new Set(entries.map(e => e.kind + e.lane + '/' + e.row));
	let y = RULER;
	lanes.forEach((lane, l) => {
		const has = (kind, r) => used.has(kind + l + '/' + r);
		lane.y = y;
		y += TITLE;
		lane.rows.forEach((row, r) => {
			row.y = y;
			if (row.session) { row.bandY = y; row.bandH = 9; y += 9; }
			else {
				if (row.states.length || row.terms.length) { row.bandY = y; row.bandH = BAND; y += BAND; }
				if (has('callback', r)) { row.flagY = y + 6; y += 12; } else y += 3;
				if (row.tasks.length || has('write', r)) { row.taskY = y; y += TASK; }
				if (row.bandY === undefined) row.bandY = row.y, row.bandH = 0;
			}
			y += 10;
		});
		const session = lane.rows.find(row => row.session);
		if (session) lane.wire = session.bandY + 4.5; else { lane.wire = y + 3; y += 14; }
		lane.end = y;
	});
	height = y + 4;
}

function yOf(e) {
	const lane = lanes[e.lane], row = lane.rows[e.row];
	if (e.kind === 'message') return lane.wire;
	if (!row) return lane.y + TITLE / 2;
	if (e.kind === 'callback') return row.flagY;
	if (e.kind === 'write' || e.kind === 'task') return row.taskY + TASK / 2;
	return row.bandY + row.bandH / 2;
}

// segment is the line of a message. One that is lost gets about half way, as if it had been as fast as a short one.
function segment(e) {
	const x0 = xOf(e.at), y0 = lanes[e.lane].wire, to = e.to >= 0 ? lanes[e.to].wire : y0 + 20;
	return e.until ? [x0, y0, xOf(e.until), to] : [x0, y0, x0 + 8, y0 + (to - y0) * 0.55];
}

// ---- Painting ----

const hidden = new Set(); // kinds that are switched off
const isShown = e => !hidden.has(e.kind);
const isMark = e => e.kind === 'callback' || e.kind === 'write' || e.point;

function draw() {
	if (waiting) return;
	waiting = true;
	requestAnimationFrame(() => { waiting = false; paint(); });
}

function paint() {
	const dpr = devicePixelRatio || 1, top = box.scrollTop;
	ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
	ctx.fillStyle = colour.card;
	ctx.fillRect(0, 0, width, canvas.height / dpr);
	ctx.save();
	ctx.translate(0, -top);
	lanes.forEach(paintFaults);
	const step = paintGrid();
	if (isShown({ kind: 'message' })) paintMessages();
	for (const lane of lanes) for (const row of lane.rows) paintRow(row);
	paintMarks();
	if (violation) paintLine(violation.at, 'bad', 2.5, []);
	paintChosen();
	paintGutter();
	ctx.restore();
	paintRuler(step);
	frame();
}

// visible calls f with the pixels of each band in view, and leaves out what would cover the same pixel as the one before.
function visible(bands, f) {
	let last = -1;
	for (const b of bands) {
		if (b.to < view.from || b.from > view.to) continue;
		const x0 = Math.max(xOf(b.from), gutter - 8), x1 = Math.min(xOf(b.to), width + 8);
		if (x1 - last < 0.5) continue;
		last = x1;
		f(b, x0, x1 - x0);
	}
}

function label(text, x, y, w, ink, font) {
	x = Math.max(x, gutter) + 5;
	if (text.length * LETTER > w - (x - 5 - Math.max(x - 5 - w, 0)) * 0 - 8) return;
	ctx.font = font || '11px system-ui, sans-serif';
	ctx.fillStyle = colour[ink];
	ctx.fillText(text, x, y);
}

function paintFaults(lane, l) {
	ctx.fillStyle = colour[l % 2 ? 'card' : 'faint'];
	ctx.globalAlpha = 0.45;
	ctx.fillRect(gutter, lane.y, width, lane.end - lane.y);
	ctx.globalAlpha = 1;
	if (hidden.has('fault')) return;
	let free = gutter;
	visible(lane.faults, (b, x, w) => {
		const look = faultLook(b), e = entries[b.entry];
		ctx.globalAlpha = 0.34;
		ctx.fillStyle = hatch(look.hatch, look.back);
		ctx.fillRect(x, lane.y + 1, Math.max(w, 1), lane.end - lane.y - 2);
		ctx.globalAlpha = 1;
		ctx.fillStyle = colour[look.hatch];
		ctx.fillRect(x, lane.y + 1, Math.max(w, 1), 2);
		const text = b.state + (e.to >= 0 ? ' off ' + lanes[e.to].node : '') + (b.open ? '' : ' for ' + clock(b.to - b.from));
		const at = Math.max(x, free), wide = text.length * LETTER + 12;
		if (wide > x + w - Math.max(at, gutter)) return;
		ctx.fillStyle = colour.card;
		ctx.fillRect(Math.max(at, gutter) + 2, lane.y + 4, wide - 4, 14);
		label(text, at, lane.y + 11.5, wide + 8, look.hatch, '600 11px system-ui, sans-serif');
		free = at + wide;
	});
}

function paintRow(row) {
	const mid = row.bandY + row.bandH / 2;
	const bands = (list, y, h, lookOf) => visible(list, (b, x, w) => {
		const look = lookOf(b);
		paintBand(ctx, look, x, y, w, h);
		if (look.label && h > 12) label(look.label, x, mid, w, look.ink || 'muted');
	});
	const states = row.session ? 'session' : 'election';
	if (!hidden.has(states)) bands(row.states, row.bandY, row.bandH, b => looks[b.state] || looks.candidate);
	if (row.session) return;
	if (!hidden.has('election')) bands(row.stale, row.bandY, BAND, () => looks.stale);
	if (!hidden.has('term')) visible(row.terms, (b, x, w) => {
		paintBand(ctx, looks[b.clash ? 'clash' : 'term'], x, row.bandY, w, BAND - 5);
		const text = 'term ' + b.token, more = text + ', valid for ' + clock(b.to - b.from), ink = b.clash ? 'on-bad' : 'on-term';
		const room = w - Math.max(gutter - x, 0);
		label(more.length * LETTER < room - 10 ? more : text.length * LETTER < room - 10 ? text : b.token, x, row.bandY + 9, room, ink, '600 11px system-ui, sans-serif');
	});
	if (hidden.has('task')) return;
	bands(row.tasks, row.taskY, TASK, b => looks[b.state] || looks.running);
	bands(row.overran, row.taskY, TASK, () => looks.overran);
}

function paintMessages() {
	const paths = {}, last = new Map();
	let count = 0;
	entries.forEach(e => {
		if (e.kind !== 'message' || e.at > view.to || (e.until || e.at) < view.from) return;
		const state = fates[e.state] ? e.state : 'sent', [x0, y0, x1, y1] = segment(e);
		// Of those that would cover each other, one is enough.
		const key = state + e.lane + '/' + e.to, before = last.get(key);
		if (before && Math.abs(before[0] - x0) < 1 && Math.abs(before[1] - x1) < 1) return;
		last.set(key, [x0, x1]);
		count++;
		pathMessage(paths[state] ||= new Path2D(), state, x0, y0, x1, y1);
		if (state !== 'lost') paths[state].rect(x1 - 1.5, y1 - 1.5, 3, 3);
	});
	for (const state of ['sent', 'late', 'doubled', 'lost']) {
		if (!paths[state]) continue;
		ctx.globalAlpha = state === 'sent' ? Math.min(0.8, Math.max(0.2, 0.9 - count / width)) : 0.95;
		ctx.strokeStyle = colour[fates[state]];
		ctx.lineWidth = state === 'sent' ? 1 : 1.4;
		ctx.stroke(paths[state]);
	}
	ctx.globalAlpha = 1;
}

function paintMarks() {
	const last = new Map();
	entries.forEach(e => {
		if (!isMark(e) || !isShown(e) || e.at < view.from || e.at > view.to) return;
		const x = xOf(e.at), y = yOf(e), key = y + e.state;
		if (x - last.get(key) < 3) return;
		last.set(key, x);
		if (e.to >= 0 && e.kind === 'write') {
			ctx.strokeStyle = colour[e.state === 'refused' ? 'bad' : 'ok'];
			ctx.lineWidth = 1;
			ctx.beginPath(); ctx.moveTo(x, y); ctx.lineTo(x, lanes[e.to].wire); ctx.stroke();
			paintMark(ctx, e, x, lanes[e.to].wire);
		}
		paintMark(ctx, e, x, y);
	});
}

function paintLine(at, name, w, dash) {
	const x = xOf(at);
	if (x < gutter || x > width) return;
	ctx.beginPath(); ctx.setLineDash(dash); ctx.lineWidth = w; ctx.strokeStyle = colour[name];
	ctx.moveTo(x, RULER); ctx.lineTo(x, height); ctx.stroke(); ctx.setLineDash([]);
}

function paintChosen() {
	for (const [i, ring] of [[hovered ? hovered.entry : -1, 7], [chosen, 9]]) {
		const e = entries[i];
		if (!e) continue;
		ctx.strokeStyle = colour.accent;
		ctx.lineWidth = 2.5;
		ctx.beginPath();
		if (e.kind === 'message') pathMessage(ctx, e.state, ...segment(e)); else ctx.arc(xOf(e.at), yOf(e), ring, 0, 7);
		ctx.stroke();
	}
	if (chosen >= 0) paintLine(entries[chosen].at, 'accent', 1, [4, 3]);
}

function paintGrid() {
	const least = (view.to - view.from) / (width - gutter) * 96;
	const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400].map(s => s * 1e9);
	const power = 10 ** Math.floor(Math.log10(least));
	const step = (least < 1e9 ? [1, 2, 5, 10].map(f => f * power) : steps).find(s => s >= least) || Math.ceil(least / 86400e9) * 86400e9;
	ctx.strokeStyle = colour.line;
	ctx.lineWidth = 1;
	ctx.beginPath();
	for (let t = Math.ceil(Math.max(view.from, 0) / step) * step; t <= view.to; t += step) {
		const x = Math.round(xOf(t)) + 0.5;
		ctx.moveTo(x, RULER); ctx.lineTo(x, height);
	}
	for (const lane of lanes) { ctx.moveTo(0, lane.end + 0.5); ctx.lineTo(width, lane.end + 0.5); }
	ctx.stroke();
	return step;
}

function paintRuler(step) {
	ctx.fillStyle = colour.card;
	ctx.fillRect(0, 0, width, RULER);
	ctx.fillStyle = colour.muted;
	ctx.font = '11px system-ui, sans-serif';
	for (let t = Math.ceil(Math.max(view.from, 0) / step) * step; t <= view.to; t += step) if (xOf(t) >= gutter) ctx.fillText(clock(t), xOf(t) + 4, 13);
	const flag = (at, name, ink) => {
		const x = xOf(at), text = clock(at), w = text.length * 6.6 + 12;
		if (x < gutter || x > width) return;
		const left = Math.min(x, width - w);
		ctx.fillStyle = colour[name]; ctx.fillRect(left, 3, w, RULER - 6);
		ctx.fillStyle = colour[ink]; ctx.fillText(text, left + 6, 13.5);
	};
	if (pointer) flag(timeAt(pointer.x), 'line', 'ink');
	if (chosen >= 0) flag(entries[chosen].at, 'accent', 'card');
	if (violation) flag(violation.at, 'bad', 'on-bad');
	ctx.fillStyle = colour.line;
	ctx.fillRect(0, RULER - 1, width, 1);
	ctx.fillStyle = colour.card;
	ctx.fillRect(0, 0, gutter, RULER - 1);
}

function paintGutter() {
	ctx.fillStyle = colour.card;
	ctx.fillRect(0, 0, gutter, height);
	ctx.fillStyle = colour.line;
	ctx.fillRect(gutter - 1, 0, 1, height);
	const fit = (text, room) => text.length > room ? text.slice(0, room - 1) + '…' : text;
	for (const lane of lanes) {
		ctx.fillRect(0, lane.end, gutter, 1);
		ctx.fillStyle = colour.ink;
		ctx.font = '600 13px system-ui, sans-serif';
		ctx.fillText(fit(lane.node, Math.floor((gutter - 16) / 7.2)), 12, lane.y + 12);
		ctx.font = '11px system-ui, sans-serif';
		ctx.fillStyle = colour.muted;
		const write = (text, y) => ctx.fillText(fit(text, Math.floor((gutter - 22) / LETTER)), 18, y);
		for (const row of lane.rows) {
			if (row.session || row.bandH) write(row.session ? 'session' : row.name, row.bandY + row.bandH / 2);
			if (row.taskY) write(row.tasks.length ? 'task' : row.name, row.taskY + TASK / 2);
		}
		ctx.fillStyle = colour.line;
	}
}

// ---- What lies under a point ----

const far = 1e9;
function distance(e, x, y) {
	if (isMark(e)) return Math.max(Math.hypot(xOf(e.at) - x, yOf(e) - y) - 4, 0);
	if (e.kind !== 'message') return far;
	const [x0, y0, x1, y1] = segment(e), dx = x1 - x0, dy = y1 - y0;
	const along = Math.min(Math.max(((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy || 1), 0), 1);
	return Math.hypot(x0 + along * dx - x, y0 + along * dy - y);
}
function nearest(x, y, reach, wanted) {
	let best = -1, least = reach;
	entries.forEach((e, i) => {
		if (!wanted(e) || !isShown(e) || e.at > view.to || (e.until || e.at) < view.from) return;
		const d = distance(e, x, y);
		if (d < least) [best, least] = [i, d];
	});
	return best < 0 ? null : { entry: best };
}
function bandAt(bands, at, kind) {
	const slack = (view.to - view.from) / (width - gutter) * 2;
	const band = hidden.has(kind) ? null : bands.findLast(b => b.from - slack <= at && at <= b.to + slack);
	return band && { entry: band.entry, band };
}
function under(x, y) {
	if (x < gutter || y < RULER) return null;
	const at = timeAt(x), lane = lanes.find(l => l.y <= y && y < l.end);
	return nearest(x, y, 6, isMark) || lane && inRow(lane, at, y) || nearest(x, y, 6, e => e.kind === 'message') || lane && bandAt(lane.faults, at, 'fault');
}
function inRow(lane, at, y) {
	for (const row of lane.rows) {
		if (y >= row.bandY && y <= row.bandY + row.bandH) {
			return bandAt(row.terms, at, 'term') || bandAt(row.stale, at, 'election') || bandAt(row.states, at, row.session ? 'session' : 'election');
		}
		if (y >= row.taskY && y <= row.taskY + TASK) return bandAt(row.overran, at, 'task') || bandAt(row.tasks, at, 'task');
	}
	return null;
}
const remarks = {
	__proto__: null,
	stale: 'Here the node still believes that it leads, and no valid term says so.',
	overran: 'Here the task runs without a valid term: what it writes must be refused by its token.',
};
function tell(target, found) {
	const e = entries[found.entry], b = found.band, text = document.createElement('b'), more = document.createElement('span');
	text.textContent = e.text;
	more.textContent = about(e) + (b ? ` · ${clock(b.to - b.from)} long, ${b.open ? 'to the end of the world' : 'until ' + clock(b.to)}` : '');
	target.replaceChildren(text, more);
	if (b && remarks[b.state]) target.append(remarks[b.state]);
	if (b && b.clash) target.append('Another term of this name is valid at the same time.');
}
function hover(found, at) {
	hovered = found;
	tip.hidden = !found;
	draw();
	if (!found) return;
	tell(tip, found);
	const size = tip.getBoundingClientRect();
	tip.style.left = Math.max(6, Math.min(at.clientX + 14, innerWidth - size.width - 6)) + 'px';
	tip.style.top = (at.clientY + 18 + size.height > innerHeight ? at.clientY - size.height - 12 : at.clientY + 18) + 'px';
}

// ---- Choosing an entry, in the timeline or in the list ----

function choose(i, found) {
	const e = entries[i];
	if (!e) return;
	chosen = i;
	tell($('chosen'), found || { entry: i });
	const place = listed.findIndex(j => j >= i); // itself, or what comes next if the filter leaves it out
	if (place >= 0) reveal(place);
	renderRows();
	const span = view.to - view.from;
	if (e.at < view.from + span * 0.02 || e.at > view.to - span * 0.02) glide(e.at - span / 2, e.at + span / 2);
	const y = yOf(e);
	if (y < box.scrollTop + RULER || y > box.scrollTop + box.clientHeight - 10) box.scrollTop = y - box.clientHeight / 2;
	draw();
}
// step chooses the listed entry before or after.
function step(by) {
	const place = listed.indexOf(chosen);
	const next = place >= 0 ? place + by : by > 0 ? listed.findIndex(j => j > chosen) : listed.findLastIndex(j => j < chosen);
	if (listed[next] !== undefined) choose(listed[next]);
}

// ---- The list: only the rows in view are in the document ----

let listed = [], rowHeight = 32;
const hay = entries.map(e => `${lanes[e.lane].node} ${e.to >= 0 ? lanes[e.to].node : ''} ${e.kind} ${e.state || ''} ${e.name || ''} #${e.token || ''} ${e.text}`.toLowerCase());

function filter() {
	const wanted = $('filter').value.toLowerCase().split(/\s+/).filter(Boolean), all = $('ordinary').checked;
	listed = [];
	entries.forEach((e, i) => {
		if (isShown(e) && (all || !ordinary(e)) && wanted.every(w => hay[i].includes(w))) listed.push(i);
	});
	$('count').textContent = `${listed.length.toLocaleString('en')} of ${entries.length.toLocaleString('en')} entries`;
	list.scrollTop = 0;
	renderRows();
}
function reveal(place) {
	const top = place * rowHeight;
	if (top < list.scrollTop || top + rowHeight > list.scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 3;
}
function renderRows() {
	rows.style.height = listed.length * rowHeight + 'px';
	const first = Math.max(Math.floor(list.scrollTop / rowHeight) - 8, 0), last = Math.ceil((list.scrollTop + list.clientHeight) / rowHeight) + 8;
	rows.replaceChildren(...listed.slice(first, last).map((i, n) => row(i, first + n)));
	if (!listed.length) rows.append(part('div', 'empty', 'Nothing matches.'));
	list.setAttribute('aria-activedescendant', $('entry-' + chosen) ? 'entry-' + chosen : '');
}
function part(tag, name, text) {
	const el = document.createElement(tag);
	el.className = name;
	el.textContent = text;
	return el;
}
function row(i, place) {
	const e = entries[i], el = part('div', `entry ${e.kind} ${trouble(e) ? 'bad' : ''}`, '');
	el.id = 'entry-' + i;
	el.setAttribute('role', 'option');
	el.setAttribute('aria-selected', i === chosen);
	el.setAttribute('aria-setsize', listed.length);
	el.setAttribute('aria-posinset', place + 1);
	el.style.top = place * rowHeight + 'px';
	el.append(part('time', '', stamp(e.at)), part('span', 'node', lanes[e.lane].node), part('span', 'kind', e.kind), part('span', 'text', e.text));
	el.addEventListener('click', () => choose(i));
	return el;
}

// ---- The minimap ----

function frame() {
	const el = $('minimap').querySelector('.window'), span = whole.to - whole.from;
	el.style.left = (view.from - whole.from) / span * 100 + '%';
	el.style.width = (view.to - view.from) / span * 100 + '%';
}
function paintMinimap() {
	const map = $('minimap').querySelector('canvas'), dpr = devicePixelRatio || 1, w = $('minimap').clientWidth, h = $('minimap').clientHeight;
	map.width = w * dpr; map.height = h * dpr;
	const c = map.getContext('2d'), x = at => (at - whole.from) / (whole.to - whole.from) * w;
	c.scale(dpr, dpr);
	const slot = (h - 8) / lanes.length, thick = Math.max(Math.min(slot - 1, 8), 1);
	const bar = (b, l, name, size) => { c.fillStyle = colour[name]; c.fillRect(x(b.from), 4 + l * slot + (slot - size) / 2, Math.max(x(b.to) - x(b.from), 1), size); };
	lanes.forEach((lane, l) => {
		c.globalAlpha = 0.45;
		lane.faults.forEach(b => bar(b, l, faultLook(b).hatch, thick));
		c.globalAlpha = 1;
		for (const row of lane.rows) row.terms.forEach(b => bar(b, l, b.clash ? 'bad' : 'term', Math.max(thick * 0.6, 1)));
	});
	for (const e of entries) if (e.state === 'refused' || e.state === 'lost') bar({ from: e.at, to: e.at }, e.lane, 'bad', Math.max(thick * 0.6, 1));
	if (violation) { c.fillStyle = colour.bad; c.fillRect(x(violation.at) - 1, 0, 3, h); }
}

// ---- Chips and the legend ----

function addChips() {
	const counts = new Map();
	for (const e of entries) { const kind = e.kind === 'lock' ? 'election' : e.kind; counts.set(kind, (counts.get(kind) || 0) + 1); }
	for (const [kind, name] of [['message', 'messages'], ['session', 'sessions'], ['election', 'elections and locks'], ['term', 'terms'], ['task', 'tasks'], ['callback', 'callbacks'], ['write', 'writes'], ['fault', 'faults']]) {
		if (!counts.has(kind)) continue;
		const chip = part('button', '', name + ' '), both = kind === 'election' ? ['election', 'lock'] : [kind];
		chip.type = 'button';
		chip.append(part('small', '', counts.get(kind).toLocaleString('en')));
		chip.setAttribute('aria-pressed', 'true');
		chip.addEventListener('click', () => {
			const off = chip.getAttribute('aria-pressed') === 'true';
			both.forEach(k => off ? hidden.add(k) : hidden.delete(k));
			chip.setAttribute('aria-pressed', !off);
			draw();
			filter();
		});
		$('chips').append(chip);
	}
}

const message = state => c => {
	c.strokeStyle = colour[fates[state]]; c.lineWidth = 1.4; c.beginPath();
	pathMessage(c, state, 8, 3, state === 'lost' ? 24 : 40, state === 'lost' ? 12 : 19); c.stroke();
};
const band = (...layers) => c => layers.forEach(([look, y, h]) => paintBand(c, looks[look], 2, y || 4, 44, h || 14));
const mark = (kind, state) => c => paintMark(c, { kind, state }, 24, 11);
const back = look => c => { c.globalAlpha = 0.5; band([look, 1, 20])(c); c.globalAlpha = 1; };
// What the legend explains, each with how to tell whether this story has it.
const legend = [
	['A valid term; its number is the fencing token', band(['leader', 2, 18], ['term', 2, 13]), () => any('terms')],
	['Terms of one name that are valid at once: this must never be', band(['clash', 2, 13]), () => any('terms', b => b.clash)],
	['Waits for the lease', band(['candidate']), () => any('states', b => b.state === 'candidate' || b.state === 'waiting')],
	['Believes that it leads, but no term is valid', band(['stale', 2, 18]), () => any('stale')],
	['Hands the lease over of its own will', band(['stepping down', 2, 18]), () => any('states', b => b.state === 'stepping down' || b.state === 'releasing')],
	['Its task runs', band(['running']), () => any('tasks')],
	['The task has been told to stop', band(['cancelled']), () => any('tasks', b => b.state === 'cancelled')],
	['The task still runs and no term is valid', band(['overran']), () => any('overran')],
	['Callback OnElected', mark('callback', 'elected'), () => some('callback', 'elected')],
	['Callback OnRevoked', mark('callback', 'revoked'), () => some('callback', 'revoked')],
	['A write that the protected resource accepted', mark('write', 'accepted'), () => some('write', 'accepted')],
	['A write that it refused: the token is too old', mark('write', 'refused'), () => some('write', 'refused')],
	['The session is live', band(['live', 7, 9]), () => any('states', b => b.state === 'live')],
	['The session is being opened', band(['opening', 7, 9]), () => any('states', b => b.state === 'opening')],
	['The session is suspended: the last renewal failed', band(['suspended', 7, 9]), () => any('states', b => b.state === 'suspended')],
	['A message that arrived', message('sent'), () => some('message', 'sent')],
	['A message that came late', message('late'), () => some('message', 'late')],
	['A message that was delivered twice', message('doubled'), () => some('message', 'doubled')],
	['A message that was lost', message('lost'), () => some('message', 'lost')],
	['Paused: the process stands still, its clock does not', back('paused'), () => fault('paused')],
	['Suspended: the machine sleeps', back('suspended_machine'), () => fault('suspended')],
	['Crashed', back('crashed'), () => fault('crashed')],
	['Cut off from the network', back('cut'), () => fault('cut')],
	['Out of order', back('outage'), () => fault('outage')],
	['Another fault', mark('fault'), () => entries.some(e => e.point)],
];
const any = (strip, test = () => true) => lanes.some(lane => lane.rows.some(row => row[strip].some(test)));
const some = (kind, state) => entries.some(e => e.kind === kind && e.state === state);
const fault = state => lanes.some(lane => lane.faults.some(b => b.state === state));

function paintLegend() {
	const dpr = devicePixelRatio || 1;
	$('legend').replaceChildren(...legend.filter(([, , has]) => has()).map(([text, swatch]) => {
		const item = document.createElement('li'), c = document.createElement('canvas');
		c.width = 48 * dpr; c.height = 22 * dpr;
		c.style.width = '48px'; c.style.height = '22px';
		c.getContext('2d').scale(dpr, dpr);
		swatch(c.getContext('2d'));
		item.append(c, text);
		return item;
	}));
}

// ---- Input ----

function size() {
	width = box.clientWidth;
	gutter = width < 600 ? 84 : 132;
	const shown = Math.min(height, Math.max(innerHeight * 0.78, 240)), dpr = devicePixelRatio || 1;
	canvas.width = width * dpr; canvas.height = shown * dpr;
	canvas.style.width = width + 'px'; canvas.style.height = shown + 'px';
	$('spacer').style.height = height + 'px';
	ctx.textBaseline = 'middle';
	rowHeight = matchMedia('(max-width: 700px)').matches ? 66 : 32;
	repaint();
	renderRows();
}
function repaint() { readColours(); paintLegend(); paintMinimap(); draw(); }

function listenToPointers() {
	const down = new Map(); // the pointers that touch, where they did last
	let moved = 0;
	const place = ev => { const r = canvas.getBoundingClientRect(); return { x: ev.clientX - r.left, y: ev.clientY - r.top + box.scrollTop, clientX: ev.clientX, clientY: ev.clientY }; };
	// In the canvas the ruler stays on top, so what it hides is not under the pointer.
	const find = p => p.y - box.scrollTop < RULER ? null : under(p.x, p.y);
	canvas.addEventListener('pointerdown', ev => { canvas.setPointerCapture(ev.pointerId); down.set(ev.pointerId, place(ev)); if (down.size === 1) moved = 0; jump(); });
	canvas.addEventListener('pointermove', ev => {
		const p = place(ev), before = down.get(ev.pointerId);
		pointer = p;
		if (!before) return hover(find(p), p);
		const others = [...down.values()].filter(q => q !== before), other = others[0];
		moved += Math.abs(p.clientX - before.clientX) + Math.abs(p.clientY - before.clientY);
		if (other) zoom(Math.max(Math.abs(before.x - other.x), 20) / Math.max(Math.abs(p.x - other.x), 20), (p.x + other.x) / 2);
		else if (moved > 4) {
			canvas.classList.add('dragging');
			hover(null);
			pan((before.x - p.x) / (width - gutter));
			if (ev.pointerType === 'mouse') box.scrollTop += before.clientY - p.clientY;
		}
		down.set(ev.pointerId, place(ev));
	});
	const up = ev => {
		if (ev.type === 'pointerup' && moved <= 4 && down.size === 1) {
			const p = place(ev), found = find(p);
			hover(ev.pointerType === 'mouse' ? found : null, p);
			if (found) choose(found.entry, found);
		}
		down.delete(ev.pointerId);
		canvas.classList.remove('dragging');
	};
	canvas.addEventListener('pointerup', up);
	canvas.addEventListener('pointercancel', up);
	canvas.addEventListener('pointerleave', () => { pointer = null; hover(null); });
	canvas.addEventListener('dblclick', ev => zoom(0.4, place(ev).x));
	canvas.addEventListener('wheel', ev => {
		const sideways = Math.abs(ev.deltaX) > Math.abs(ev.deltaY) || ev.shiftKey;
		// All of the world is in view: a reader who scrolls on wants to get past the timeline.
		if (!sideways && ev.deltaY > 0 && view.to - view.from >= whole.to - whole.from) return;
		ev.preventDefault();
		if (sideways) pan((ev.deltaX || ev.deltaY) / (width - gutter));
		else zoom(Math.exp(Math.max(-120, Math.min(120, ev.deltaY)) * (ev.ctrlKey ? 0.01 : 0.0022)), place(ev).x);
	}, { passive: false });
	const map = $('minimap'), span = whole.to - whole.from;
	const center = ev => {
		const at = whole.from + (ev.clientX - map.getBoundingClientRect().left) / map.clientWidth * span, half = (view.to - view.from) / 2;
		jump();
		show(at - half, at + half);
	};
	map.addEventListener('pointerdown', ev => { map.setPointerCapture(ev.pointerId); center(ev); });
	map.addEventListener('pointermove', ev => { if (ev.buttons) center(ev); });
}

function listenToKeys() {
	const keys = { ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), '+': () => zoom(0.6), '=': () => zoom(0.6), '-': () => zoom(1 / 0.6), '0': () => glide(whole.from, whole.to),
		',': () => step(-1), '.': () => step(1), v: () => violation && showViolation(), Escape: () => { chosen = -1; $('chosen').replaceChildren(); hover(null); renderRows(); } };
	const on = keys => ev => {
		if (ev.ctrlKey || ev.metaKey || ev.altKey || !keys[ev.key]) return;
		ev.preventDefault();
		keys[ev.key]();
	};
	canvas.addEventListener('keydown', on(keys));
	list.addEventListener('keydown', on({ ArrowUp: () => step(-1), ArrowDown: () => step(1), Home: () => choose(listed[0]), End: () => choose(listed.at(-1)),
		Enter: () => { const e = entries[chosen]; if (e) glide(e.at - (view.to - view.from) / 8, e.at + (view.to - view.from) / 8); } }));
}

function listen() {
	listenToPointers();
	listenToKeys();
	$('in').addEventListener('click', () => zoom(0.5));
	$('out').addEventListener('click', () => zoom(2));
	$('fit').addEventListener('click', () => glide(whole.from, whole.to));
	$('filter').addEventListener('input', filter);
	$('ordinary').addEventListener('change', filter);
	list.addEventListener('scroll', renderRows);
	box.addEventListener('scroll', draw);
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);
	new ResizeObserver(size).observe(box);
	if ($('look')) $('look').addEventListener('click', showViolation);
	if ($('copy')) $('copy').addEventListener('click', copy);
}
async function copy() {
	try {
		await navigator.clipboard.writeText($('command').textContent);
		$('copy').textContent = 'Copied';
	} catch {
		getSelection().selectAllChildren($('command')); // for the reader to copy by hand
		$('copy').textContent = 'Selected';
	}
	setTimeout(() => { $('copy').textContent = 'Copy'; }, 1500);
}

if (violation && $('violated')) $('violated').textContent = clock(violation.at);
addChips();
place();
listen();
filter();
size();
$('chosen').append(part('span', '', 'Tap a mark, or an entry of the list, to see here what it is.'));
})();
