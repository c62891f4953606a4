// ---- Words: how times and entries read ----

const $ = id => document.getElementById(id);
const { entries, lanes, length, violation } = JSON.parse($('data').textContent);

const trimmed = (value, digits) => String(+value.toFixed(digits));

function minutes(ns) {
	const h = Math.floor(ns / 3600e9), m = Math.floor(ns / 60e9) % 60;
	return (h ? h + 'h' : '') + (h || m ? m + 'm' : '');
}

// clock writes nanoseconds as Go writes durations, to the microsecond.
function clock(ns) {
	ns = Math.round(ns);
	if (ns < 0) return '-' + clock(-ns);
	if (ns === 0) return '0s';
	if (ns < 1e3) return ns + 'ns';
	if (ns < 1e6) return trimmed(ns / 1e3, 3) + 'µs';
	if (ns < 1e9) return trimmed(ns / 1e6, 3) + 'ms';
	return minutes(ns) + trimmed(ns % 60e9 / 1e9, 6) + 's';
}
const brief = ns => clock(+ns.toPrecision(4));
const stamp = ns => minutes(ns) + (ns % 60e9 / 1e9).toFixed(3) + 's'; // as wide as its neighbours in the list

const troubles = new Set(['lost', 'late', 'doubled', 'refused']);
const isTrouble = e => troubles.has(e.state) || e.kind === 'violation';
const isOrdinary = e => e.kind === 'message' && !isTrouble(e);
const isMark = e => e.kind === 'callback' || e.kind === 'write' || e.point;
const route = e => lanes[e.lane].node + (e.to >= 0 ? ' → ' + lanes[e.to].node : '');

// subject is which lease an entry is about, as the command writes it.
const subject = e => e.name ? e.name + (e.token ? '=' + e.token : '') + ': ' : '';

// about says what an entry's text may not: what it is, and when and where exactly.
function about(e) {
	const parts = [clock(e.at), route(e), e.kind + (e.state ? ' ' + e.state : '')];
	if (e.name) parts.push(e.name);
	if (e.token) parts.push('token ' + e.token);
	if (e.until) parts.push('under way for ' + clock(e.until - e.at));
	return parts.join(' · ');
}

const remarks = {
	__proto__: null,
	stale: 'Here the node still believes that it has the lease, but no term is valid.',
	overran: 'Here the task runs on without a valid term: only the token protects what it writes to.',
	clash: 'Here another term of the same name is valid too, which must never be.',
};

function part(tag, name, text) {
	const el = document.createElement(tag);
	el.className = name;
	el.textContent = text; // never markup: names and texts are those of the world
	return el;
}

// tell shows in an element what was found: an entry, and the band that it began if that is what was meant.
function tell(el, { entry, band }) {
	const e = entries[entry], remark = band && remarks[band.state];
	const lasting = band ? ` · ${clock(band.to - band.from)} long, ${band.open ? 'to the end of the world' : 'until ' + clock(band.to)}` : '';
	el.replaceChildren(part('b', '', remark || e.text), part('span', '', about(e) + lasting));
}
