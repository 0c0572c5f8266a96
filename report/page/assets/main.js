// Puts the panes together: reads the data, fills the filter, listens to keys, draws what changed.
const $ = (id) => document.getElementById(id);

async function begin() {
  document.documentElement.classList.add('js');
  const runs = [];
  for (let index = 0; $('data-' + index); index++) runs.push(new Run(await unpack($('data-' + index).textContent), index));
  readColours();
  const panes = [];
  for (const run of runs) {
    for (const root of document.querySelectorAll(`.run[data-run="${run.index}"]`)) {
      if (root.querySelector('[data-pane=overview]')) panes.push(overviewPane(run, root));
      if (root.querySelector('[data-pane=curve]')) panes.push(curvePane(run, root));
      if (root.querySelector('[data-pane=matrix]')) panes.push(matrixPane(run, root));
      if (root.querySelector('[data-pane=replicas]')) panes.push(replicasPane(run, root), listPane(run, root));
      if (root.querySelector('[data-pane=tree]')) panes.push(treePane(run, root));
      if (root.querySelector('[data-pane=storm]')) panes.push(stormPane(run, root));
    }
  }
  fillFilter(runs);
  let last = null;
  onChange(() => {
    if (state.h !== last) { last = state.h; for (const pane of panes) if (pane.reveal && state.h) pane.reveal(state.h); }
    const where = [state.t === null ? '' : seconds(state.t), state.h ? 'height ' + state.h : ''].filter(Boolean).join(', ');
    if ($('where').textContent !== where) $('where').textContent = where;
    showFilter();
    showLines();
    for (const pane of panes) pane.draw();
  });
  const current = () => runs[state.run] || runs[0];
  Object.assign(state, decode(location.hash));
  if (!runs[state.run]) state.run = 0;
  const first = runs.find((run) => run.divergence);
  const isBare = !/=/.test(location.hash);
  if (isBare && first) Object.assign(state, { h: first.divergence, run: first.index, t: first.timeOf.get(first.divergence) ?? null });
  const risen = runs.find((run) => run.curve?.window);
  if (isBare && risen) {
    const marked = risen.mark_at.findIndex((_, i) => risen.isOfMarked(i));
    Object.assign(state, { w: risen.curve.window, run: risen.index, t: risen.curve.strips[0][1][1], e: marked < 0 ? null : marked });
  }
  const parted = $('difference');
  if (isBare && parted) {
    const [t, h] = [parted.dataset.first, parted.dataset.differs].map((text) => (text === '' ? null : Number(text)));
    Object.assign(state, { t, h, run: 0 });
  }
  listenToKeys(current);
  document.querySelector('.bar nav').addEventListener('click', (event) => {
    const link = event.target.closest('a');
    if (link) { event.preventDefault(); goTo(link.hash.slice(1)); }
  });
  document.body.addEventListener('click', (event) => {
    const link = event.target.closest('[data-height]');
    if (link) { event.preventDefault(); selectHeight(current(), Number(link.dataset.height)); goTo('roots'); }
  });
  addEventListener('popstate', () => { forget(); Object.assign(state, decode(location.hash)); if (!runs[state.run]) state.run = 0; announce(); });
  dark.addEventListener('change', () => { readColours(); announce(); });
  // Paper is light; the class comes before the browser asks what to print, the medium may come after.
  const paint = (isPaper) => {
    document.documentElement.classList.toggle('printing', isPaper);
    readColours();
    for (const pane of panes) pane.draw();
  };
  addEventListener('beforeprint', () => paint(true));
  addEventListener('afterprint', () => paint(false));
  matchMedia('print').addEventListener('change', (event) => paint(event.matches));
  new ResizeObserver(announce).observe(document.body);
  announce();
  requestAnimationFrame(() => { document.documentElement.dataset.ready = 'yes'; });
}

function goTo(id) {
  const section = $(id);
  if (section) { section.scrollIntoView(); section.focus({ preventScroll: true }); }
}

function fillFilter(runs) {
  const longest = runs.reduce((a, b) => (a.replicas >= b.replicas ? a : b));
  for (let node = 0; node < longest.replicas; node++) $('f-node').append(new Option(longest.rows[node][0], String(node)));
  $('f-node').append(new Option('supervisor', '255'));
  for (const kind of [...new Set(runs.flatMap((run) => run.kinds))].sort()) $('f-kind').append(new Option(kind, kind));
  const number = (text) => (text === '' ? null : Math.max(0, Math.round(Number(text)) || 0));
  $('f-text').addEventListener('input', () => change({ q: $('f-text').value }));
  $('f-node').addEventListener('change', () => change({ node: number($('f-node').value) }, true));
  $('f-kind').addEventListener('change', () => change({ kind: $('f-kind').value }, true));
  $('f-from').addEventListener('input', () => change({ from: number($('f-from').value) }));
  $('f-to').addEventListener('input', () => change({ to: number($('f-to').value) }));
  $('f-clear').addEventListener('click', clearFilter);
  $('help-open').addEventListener('click', () => $('help').showModal());
}

function clearFilter() { change({ q: '', node: null, kind: '', from: null, to: null }, true); }

function showFilter() {
  const shown = { 'f-text': state.q, 'f-node': state.node ?? '', 'f-kind': state.kind, 'f-from': state.from ?? '', 'f-to': state.to ?? '' };
  for (const [id, value] of Object.entries(shown)) if ($(id).value !== String(value)) $(id).value = String(value);
}

// The lines of the drill-down are filtered by text too, and by a name its keys and the checks: timers stand there.
let lastText = '';
function showLines() {
  const q = state.q.toLowerCase();
  if (q === lastText) return;
  lastText = q;
  const hide = (selector, text) => { for (const each of document.querySelectorAll(selector)) each.classList.toggle('gone', text !== '' && !each.textContent.toLowerCase().includes(text)); };
  hide('ol.chain li', q);
  hide('.keyval, tr.check', named());
  if (named()) for (const details of document.querySelectorAll('#checks details')) details.open = true;
}

function listenToKeys(current) {
  addEventListener('keydown', (event) => {
    const isTyping = event.target.matches('input, select, textarea');
    if (event.key === 'Escape') {
      if (isTyping) event.target.blur(); else if (!$('help').open && isFiltered()) clearFilter();
      return;
    }
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || $('help').open) return;
    const run = current();
    const act = {
      j: () => stepEvent(run, 1), k: () => stepEvent(run, -1), ']': () => stepHeight(run, 1), '[': () => stepHeight(run, -1),
      '/': () => $('f-text').focus(), '?': () => $('help').showModal(),
      d: () => { if (run.divergence) selectHeight(run, run.divergence); goTo('why'); },
    }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
}

function stepEvent(run, by) {
  const events = filtered(run);
  if (!events.length) return;
  let at = events.indexOf(state.e);
  if (at < 0) {
    at = state.t === null ? -1 : events.findIndex((i) => run.mark_at[i] >= state.t);
    at = at < 0 ? (by > 0 ? 0 : events.length - 1) : by > 0 ? at : Math.max(0, at - 1);
  } else at = Math.max(0, Math.min(events.length - 1, at + by));
  selectEvent(run, events[at]);
}

function stepHeight(run, by) {
  const from = state.h ?? (by > 0 ? 0 : run.heights + 1);
  selectHeight(run, Math.max(1, Math.min(run.heights, from + by)));
}

begin();
