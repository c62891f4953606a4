// ---- The list: the same story as text. Only the rows in view are in the document ----

const list = $('list'), rows = $('rows');
const haystack = entries.map(e => `${route(e)} ${e.kind} ${e.state || ''} ${e.name || ''} #${e.token || ''} ${e.text}`.toLowerCase());
let listed = entries.map((_, i) => i), rowHeight = 32;

function filter() {
	const words = $('filter').value.toLowerCase().split(/\s+/), all = $('ordinary').checked;
	listed = [];
	entries.forEach((e, i) => {
		if (isShown(e) && (all || !isOrdinary(e)) && words.every(word => haystack[i].includes(word))) listed.push(i);
	});
	$('count').textContent = `${listed.length.toLocaleString('en')} of ${entries.length.toLocaleString('en')} entries`;
	list.scrollTop = 0;
	reveal(chosen);
	renderRows();
}

// reveal scrolls to an entry, or to what comes next if the filter leaves it out.
function reveal(i) {
	const top = listed.findIndex(j => j >= i) * rowHeight;
	if (i >= 0 && top >= 0 && (top < list.scrollTop || top + rowHeight > list.scrollTop + list.clientHeight)) list.scrollTop = top - list.clientHeight / 3;
}

function renderRows() {
	const first = Math.max(Math.floor(list.scrollTop / rowHeight) - 8, 0), last = Math.ceil((list.scrollTop + list.clientHeight) / rowHeight) + 8;
	rows.style.height = listed.length * rowHeight + 'px';
	rows.replaceChildren(...listed.slice(first, last).map((i, n) => listRow(i, first + n)));
	if (!listed.length) rows.append(part('div', 'empty', 'Nothing matches.'));
	list.setAttribute('aria-activedescendant', $('entry-' + chosen) ? 'entry-' + chosen : '');
}

function listRow(i, place) {
	const e = entries[i], row = part('div', 'entry', '');
	row.id = 'entry-' + i;
	row.dataset.kind = e.kind === 'violation' || isBad(e) ? 'serious' : isTrouble(e) ? 'trouble' : e.kind;
	row.setAttribute('role', 'option');
	row.setAttribute('aria-selected', i === chosen);
	row.setAttribute('aria-setsize', listed.length);
	row.setAttribute('aria-posinset', place + 1);
	row.style.top = place * rowHeight + 'px';
	row.append(part('time', '', stamp(e.at)), part('span', 'node', route(e)), part('span', 'kind', e.kind), part('span', 'text', subject(e) + e.text));
	row.addEventListener('click', () => choose(i));
	return row;
}

// choose marks an entry in the list and in the timeline, and moves both so that it is seen.
function choose(i, found = { entry: i }) {
	const e = entries[i];
	if (!e) return;
	chosen = i;
	tell($('chosen'), found);
	reveal(i);
	renderRows();
	const half = (view.to - view.from) / 2, y = yOf(e);
	if (e.at < view.from || e.at > view.to) glide(e.at - half, e.at + half);
	if (y < box.scrollTop + RULER || y > box.scrollTop + box.clientHeight - 10) box.scrollTop = y - box.clientHeight / 2;
	draw();
}

// chooseNext chooses the listed entry after the chosen one, or with -1 the one before it.
function chooseNext(by) {
	const place = listed.findIndex(i => i >= chosen);
	choose(listed[listed[place] === chosen || by < 0 ? (place < 0 ? listed.length : place) + by : place]);
}
