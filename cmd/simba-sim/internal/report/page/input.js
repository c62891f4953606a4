// ---- What lies under the pointer ----

// distance is how far a point is from an entry's mark or line.
function distance(e, x, y) {
	if (isMark(e)) return Math.hypot(xOf(e.at) - x, yOf(e) - y) - MARK;
	const [x0, y0, x1, y1] = segment(e), dx = x1 - x0, dy = y1 - y0;
	const along = Math.min(Math.max(((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy || 1), 0), 1);
	return Math.hypot(x0 + along * dx - x, y0 + along * dy - y);
}
function nearest(x, y, wanted) {
	let best = -1, least = 6;
	entries.forEach((e, i) => {
		if (!wanted(e) || !isShown(e) || e.at > view.to || Math.max(e.until || 0, e.at) < view.from) return;
		const d = distance(e, x, y);
		if (d < least) [best, least] = [i, d];
	});
	return best < 0 ? null : { entry: best };
}
function bandAt(bands, at, kind) {
	const slack = (view.to - view.from) / (width - gutter) * 2;
	const band = hidden.has(kind) ? null : bands.findLast(b => b.from - slack <= at && (b.open || at <= b.to + slack));
	return band && { entry: band.entry, band };
}
function inRow(row, at, y) {
	if (y >= row.bandY && y <= row.bandY + row.bandH) {
		return bandAt(row.clash, at, 'term') || bandAt(row.terms, at, 'term') || bandAt(row.stale, at, 'election') || bandAt(row.states, at, row.session ? 'session' : 'election');
	}
	return y >= row.taskY && y <= row.taskY + row.taskH ? bandAt(row.overran, at, 'task') || bandAt(row.tasks, at, 'task') : null;
}
function under(x, y) {
	if (x < gutter || y < box.scrollTop + RULER) return null;
	const at = timeAt(x), lane = lanes.find(l => l.y <= y && y < l.end), rows = lane ? lane.rows : [];
	return nearest(x, y, isMark) || rows.map(row => inRow(row, at, y)).find(Boolean) ||
		nearest(x, y, e => e.kind === 'message') || lane && bandAt(lane.faults, at, 'fault');
}

function hover(found, p) {
	const tip = $('tip');
	hovered = found;
	tip.hidden = !found;
	draw();
	if (!found) return;
	tell(tip, found);
	const { width: w, height: h } = tip.getBoundingClientRect();
	tip.style.left = Math.max(6, Math.min(p.clientX + 14, innerWidth - w - 6)) + 'px';
	tip.style.top = (p.clientY + 18 + h > innerHeight ? p.clientY - h - 12 : p.clientY + 18) + 'px';
}

// ---- Input ----

function listenToPointers() {
	const down = new Map(); // the pointers that touch, and where
	let moved = 0;
	const where = ev => {
		const r = canvas.getBoundingClientRect();
		return { x: ev.clientX - r.left, y: ev.clientY - r.top + box.scrollTop, clientX: ev.clientX, clientY: ev.clientY };
	};
	canvas.addEventListener('pointerdown', ev => {
		canvas.setPointerCapture(ev.pointerId);
		if (!down.size) moved = 0;
		down.set(ev.pointerId, where(ev));
		flight++;
	});
	canvas.addEventListener('pointermove', ev => {
		const p = where(ev), before = down.get(ev.pointerId), other = [...down.values()].find(q => q !== before);
		pointer = p;
		if (!before) return hover(under(p.x, p.y), p);
		moved += Math.abs(p.clientX - before.clientX) + Math.abs(p.clientY - before.clientY);
		if (moved <= 4) return;
		hover(null);
		if (other) zoom(Math.max(Math.abs(before.x - other.x), 20) / Math.max(Math.abs(p.x - other.x), 20), (p.x + other.x) / 2);
		else {
			pan((before.x - p.x) / (width - gutter));
			if (ev.pointerType === 'mouse') box.scrollTop += before.clientY - p.clientY; // a finger scrolls by itself
		}
		down.set(ev.pointerId, p);
	});
	const lift = ev => {
		const p = where(ev), found = under(p.x, p.y);
		if (ev.type === 'pointerup' && moved <= 4 && found) choose(found.entry, found);
		down.delete(ev.pointerId);
	};
	canvas.addEventListener('pointerup', lift);
	canvas.addEventListener('pointercancel', lift);
	canvas.addEventListener('pointerleave', () => { pointer = null; hover(null); });
	canvas.addEventListener('dblclick', ev => zoom(0.4, where(ev).x));
	canvas.addEventListener('wheel', ev => {
		const sideways = Math.abs(ev.deltaX) > Math.abs(ev.deltaY) || ev.shiftKey;
		// With all of the world in view, a reader who scrolls on wants to get past the timeline.
		if (!sideways && ev.deltaY > 0 && isWhole()) return;
		ev.preventDefault();
		if (sideways) pan((ev.deltaX || ev.deltaY) / (width - gutter));
		else zoom(Math.exp(Math.max(-120, Math.min(120, ev.deltaY)) * (ev.ctrlKey ? 0.01 : 0.0022)), where(ev).x);
	}, { passive: false });
}

function listenToMinimap() {
	const map = $('minimap');
	const center = ev => {
		const at = whole.from + (ev.clientX - map.getBoundingClientRect().left) / map.clientWidth * (whole.to - whole.from), half = (view.to - view.from) / 2;
		flight++;
		show(at - half, at + half);
	};
	map.addEventListener('pointerdown', ev => { map.setPointerCapture(ev.pointerId); center(ev); });
	map.addEventListener('pointermove', ev => { if (ev.buttons) center(ev); });
}

function listenToKeys(el, keys) {
	el.addEventListener('keydown', ev => {
		if (ev.ctrlKey || ev.metaKey || ev.altKey || !Object.hasOwn(keys, ev.key)) return;
		ev.preventDefault();
		keys[ev.key]();
	});
}

function addChips() {
	const kinds = { messages: ['message'], sessions: ['session'], 'elections and locks': ['election', 'lock'], terms: ['term'], tasks: ['task'], callbacks: ['callback'], writes: ['write'], faults: ['fault'] };
	for (const [name, which] of Object.entries(kinds)) {
		const count = entries.filter(e => which.includes(e.kind)).length, chip = part('button', '', name + ' ');
		if (!count) continue;
		chip.type = 'button';
		chip.setAttribute('aria-pressed', true);
		chip.append(part('small', '', count.toLocaleString('en')));
		chip.addEventListener('click', () => {
			const off = chip.getAttribute('aria-pressed') === 'true';
			for (const kind of which) off ? hidden.add(kind) : hidden.delete(kind);
			chip.setAttribute('aria-pressed', !off);
			filter();
			draw();
		});
		$('chips').append(chip);
	}
}

async function copy() {
	try {
		await navigator.clipboard.writeText($('command').textContent);
		$('copy').textContent = 'Copied';
	} catch { // the browser does not allow it: the reader copies what is now selected
		getSelection().selectAllChildren($('command'));
		$('copy').textContent = 'Selected';
	}
	setTimeout(() => { $('copy').textContent = 'Copy'; }, 1500);
}

function repaint() { readColours(); paintLegend(); paintMinimap(); draw(); }

function resize() {
	const visible = Math.min(height, Math.max(innerHeight * 0.78, 240));
	const all = isWhole();
	width = box.clientWidth;
	gutter = width < 600 ? 84 : 132;
	rowHeight = width < 700 ? 60 : 32; // as in the style
	canvas.width = width * sharp();
	canvas.height = visible * sharp();
	canvas.style.width = width + 'px';
	canvas.style.height = visible + 'px';
	ctx.textBaseline = 'middle';
	$('spacer').style.height = height + 'px';
	const pixel = Math.max(length, 1e3) / Math.max(width - gutter, 100);
	whole.from = -8 * pixel; // room for a mark at the beginning, and for what is still so at the end
	whole.to = Math.max(length, 1e3) + (STUB + 10) * pixel;
	if (all) Object.assign(view, whole);
	repaint();
	renderRows();
}

function start() {
	const on = (id, type, f) => $(id) && $(id).addEventListener(type, f), fit = () => glide(whole.from, whole.to);
	on('in', 'click', () => zoom(0.5));
	on('out', 'click', () => zoom(2));
	on('fit', 'click', fit);
	on('look', 'click', showViolation);
	on('copy', 'click', copy);
	on('filter', 'input', filter);
	on('ordinary', 'change', filter);
	list.addEventListener('scroll', renderRows);
	box.addEventListener('scroll', draw);
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);
	new ResizeObserver(resize).observe(box);
	listenToPointers();
	listenToMinimap();
	listenToKeys(canvas, {
		ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), '+': () => zoom(0.6), '=': () => zoom(0.6), '-': () => zoom(1 / 0.6), 0: fit,
		',': () => chooseNext(-1), '.': () => chooseNext(1), v: () => violation && showViolation(),
	});
	listenToKeys(list, {
		ArrowUp: () => chooseNext(-1), ArrowDown: () => chooseNext(1), Home: () => choose(listed[0]), End: () => choose(listed.at(-1)),
		Enter: () => chosen >= 0 && glide(entries[chosen].at - (view.to - view.from) / 8, entries[chosen].at + (view.to - view.from) / 8),
	});
	if ($('violated')) $('violated').textContent = clock(violation.at);
	$('how').open = innerWidth >= 700;
	addChips();
	place();
	resize();
	filter();
}
start();
