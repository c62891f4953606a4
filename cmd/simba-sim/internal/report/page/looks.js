// ---- Looks: one place for the timeline and its legend ----

const MARK = 5; // half the size of a mark

const looks = {
	__proto__: null,
	opening: { hatch: 'session' },
	live: { fill: 'session' },
	suspended: { fill: 'warn' },
	candidate: { fill: 'wait', label: 'candidate' },
	waiting: { fill: 'wait', label: 'waiting' },
	leader: { fill: 'lead' },
	held: { fill: 'lead' },
	'stepping down': { fill: 'lead', hatch: 'term', label: 'stepping down' },
	releasing: { fill: 'lead', hatch: 'term', label: 'releasing' },
	stopped: { label: 'stopped' },
	over: { label: 'over' },
	closed: {},
	stale: { fill: 'card', hatch: 'stale', border: 'stale', label: 'no valid term' },
	term: { fill: 'term', ink: 'on-term' },
	clash: { fill: 'bad', ink: 'on-bad' },
	running: { fill: 'task' },
	cancelled: { fill: 'card', hatch: 'task', border: 'task' },
	overran: { fill: 'card', hatch: 'over', border: 'over' },
};
const faults = {
	__proto__: null,
	paused: { hatch: 'pause' },
	suspended: { hatch: 'sleep' },
	crashed: { hatch: 'crash', falling: true },
	cut: { hatch: 'cut', falling: true },
	outage: { hatch: 'crash' },
};
const fates = { __proto__: null, sent: 'message', late: 'late', doubled: 'double', lost: 'bad' };

let colour = {}; // the style's, by name
const patterns = new Map();
const sharp = () => devicePixelRatio || 1;

function readColours() {
	const style = getComputedStyle(document.documentElement);
	const names = 'bg card ink muted line faint accent term on-term lead wait stale session warn task over ok bad on-bad late double message pause crash cut sleep';
	colour = Object.fromEntries(names.split(' ').map(name => [name, style.getPropertyValue('--' + name).trim()]));
	patterns.clear();
}

// hatch is a pattern of slanted lines: what is hatched can be told apart without its colour.
function hatch(c, { hatch: name, falling }) {
	const key = name + falling;
	if (!patterns.has(key)) {
		const size = Math.round(7 * sharp()), tile = document.createElement('canvas'), t = tile.getContext('2d');
		tile.width = tile.height = size;
		t.strokeStyle = colour[name];
		t.lineWidth = 1.6 * sharp();
		for (const shift of [-size, 0, size]) {
			t.moveTo(shift - 1, falling ? -1 : size + 1);
			t.lineTo(shift + size + 1, falling ? size + 1 : -1);
		}
		t.stroke();
		const pattern = c.createPattern(tile, 'repeat');
		pattern.setTransform(new DOMMatrix().scale(1 / sharp()));
		patterns.set(key, pattern);
	}
	return patterns.get(key);
}

function paintBand(c, look, x, y, w, h) {
	c.beginPath();
	if (w > 6) c.roundRect(x, y, w, h, Math.min(3, h / 2)); else c.rect(x, y, Math.max(w, 1), h);
	if (look.fill) { c.fillStyle = colour[look.fill]; c.fill(); }
	if (look.hatch) { c.fillStyle = hatch(c, look); c.fill(); }
	if (look.border && w > 3) { c.strokeStyle = colour[look.border]; c.lineWidth = 1; c.stroke(); }
}

function paintFault(c, look, x, y, w, h) {
	c.globalAlpha = 0.34;
	c.fillStyle = hatch(c, look);
	c.fillRect(x, y, Math.max(w, 1), h);
	c.globalAlpha = 1;
	c.fillStyle = colour[look.hatch];
	c.fillRect(x, y, Math.max(w, 1), 2);
}

function pathCross(c, x, y, size) {
	c.moveTo(x - size, y - size); c.lineTo(x + size, y + size);
	c.moveTo(x + size, y - size); c.lineTo(x - size, y + size);
}

function pathMessage(c, state, x0, y0, x1, y1) {
	c.moveTo(x0, y0); c.lineTo(x1, y1);
	if (state === 'lost') pathCross(c, x1, y1, 4); else c.rect(x1 - 1.5, y1 - 1.5, 3, 3);
	if (state === 'doubled') { c.moveTo(x0 + 3, y0); c.lineTo(x1 + 3, y1); }
}

const isBad = e => e.state === 'refused';

function paintMark(c, e, x, y) {
	c.beginPath();
	if (e.kind === 'callback') {
		const up = e.state === 'revoked' ? -4 : 4;
		c.moveTo(x - MARK, y + up); c.lineTo(x + MARK, y + up); c.lineTo(x, y - up);
		c.fillStyle = colour.ink; c.fill();
	} else if (e.kind === 'fault') {
		c.moveTo(x, y - 6); c.lineTo(x + 6, y); c.lineTo(x, y + 6); c.lineTo(x - 6, y);
		c.fillStyle = colour.cut; c.fill();
	} else {
		c.arc(x, y, isBad(e) ? MARK + 1.5 : MARK, 0, 7);
		c.fillStyle = colour[isBad(e) ? 'bad' : 'ok']; c.fill();
		c.strokeStyle = colour.card; c.lineWidth = 1; c.stroke();
		c.beginPath();
		if (isBad(e)) pathCross(c, x, y, 2.5); else { c.moveTo(x - 2.3, y); c.lineTo(x - 0.5, y + 1.9); c.lineTo(x + 2.4, y - 1.8); }
		c.lineWidth = 1.6; c.stroke();
	}
}

// ---- The legend: what this story has, drawn as the timeline draws it ----

const band = (...layers) => c => layers.forEach(([look, y, h]) => paintBand(c, looks[look], 2, y, 44, h));
const mark = (kind, state) => c => paintMark(c, { kind, state }, 24, 11);
const lines = state => c => {
	c.strokeStyle = colour[fates[state]]; c.lineWidth = 1.4;
	c.beginPath(); pathMessage(c, state, 8, 4, state === 'lost' ? 20 : 40, state === 'lost' ? 13 : 18); c.stroke();
};
const any = (strip, ...states) => lanes.some(lane => lane.rows.some(row => row[strip].some(b => !states.length || states.includes(b.state))));
const some = (kind, state) => entries.some(e => e.kind === kind && e.state === state);

const legend = () => [
	[any('terms'), 'A valid term, with its fencing token', band(['leader', 2, 18], ['term', 2, 13])],
	[any('clash'), 'Two terms of one name are valid: this must never be', band(['leader', 2, 18], ['clash', 2, 13])],
	[any('states', 'candidate', 'waiting'), 'Waits for the lease', band(['candidate', 3, 16])],
	[any('stale'), 'Believes that it leads, but no term is valid', band(['stale', 3, 16])],
	[any('states', 'stepping down', 'releasing'), 'Hands the lease over of its own will', band(['stepping down', 3, 16])],
	[any('tasks'), 'Its task runs', band(['running', 5, 12])],
	[any('tasks', 'cancelled'), 'The task has been told to stop', band(['cancelled', 5, 12])],
	[any('overran'), 'The task still runs, but no term is valid', band(['overran', 5, 12])],
	[some('callback', 'elected'), 'Callback OnElected', mark('callback', 'elected')],
	[some('callback', 'revoked'), 'Callback OnRevoked', mark('callback', 'revoked')],
	[some('write', 'accepted'), 'A write that the resource accepted', mark('write', 'accepted')],
	[some('write', 'refused'), 'A write that the resource refused', mark('write', 'refused')],
	[any('states', 'opening'), 'The session is being opened', band(['opening', 7, 9])],
	[any('states', 'live'), 'The session is live', band(['live', 7, 9])],
	[any('states', 'suspended'), 'The last renewal of the session failed', band(['suspended', 7, 9])],
	[some('message', 'sent'), 'A message that arrived', lines('sent')],
	[some('message', 'late'), 'A message that came late', lines('late')],
	[some('message', 'doubled'), 'A message that came twice', lines('doubled')],
	[some('message', 'lost'), 'A message that was lost', lines('lost')],
	...[['paused', 'Paused: the process stands still, its clock does not'], ['suspended', 'Suspended: the machine sleeps'],
		['crashed', 'Crashed'], ['cut', 'Cut off from the network'], ['outage', 'Out of order']].map(([state, text]) =>
		[lanes.some(lane => lane.faults.some(b => b.state === state)), text, c => paintFault(c, faults[state], 2, 2, 44, 18)]),
	[entries.some(e => e.point), 'Another fault', mark('fault')],
];

function paintLegend() {
	$('legend').replaceChildren(...legend().filter(([used]) => used).map(([, text, paint]) => {
		const item = part('li', '', ''), swatch = document.createElement('canvas'), c = swatch.getContext('2d');
		swatch.width = 48 * sharp(); swatch.height = 22 * sharp();
		c.scale(sharp(), sharp());
		paint(c);
		item.append(swatch, text);
		return item;
	}));
}
