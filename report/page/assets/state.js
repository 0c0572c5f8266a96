// One cursor, one selection, one filter for all panes, kept in the address, so that a view can be linked.
const state = { t: null, h: null, e: null, run: 0, from: null, to: null, node: null, kind: '', q: '', w: null };
const listeners = [];
let due = 0, resting = 0;

function onChange(listener) { listeners.push(listener); }

function change(patch, keep) {
  if (keep) rest();
  Object.assign(state, patch);
  // A cursor that is dragged changes a hundred times a second, and browsers refuse so many addresses.
  if (keep) write('pushState'); else if (!resting) resting = setTimeout(rest, 200);
  announce();
}

function rest() {
  if (!resting) return;
  forget();
  write('replaceState');
}

function forget() { clearTimeout(resting); resting = 0; }

function write(how) {
  const address = '#' + encode();
  if (address !== location.hash) history[how](null, '', address);
}

function announce() {
  if (!due) due = requestAnimationFrame(() => { due = 0; for (const listener of listeners) listener(); });
}

function encode() {
  const parts = new URLSearchParams();
  for (const name of ['h', 't', 'e', 'run', 'from', 'to', 'node', 'kind', 'q']) {
    const value = state[name];
    if (value !== null && value !== '' && !(name === 'run' && !value)) parts.set(name, String(value));
  }
  if (state.w) parts.set('w', state.w.map(Math.round).join('-'));
  return parts.toString();
}

// Numbers that are no numbers count as not there: an address may come from anywhere.
function decode(hash) {
  const parts = new URLSearchParams(hash.replace(/^#/, ''));
  const number = (name) => { const value = parts.get(name); return value && /^\d{1,15}$/.test(value) ? Number(value) : null; };
  const w = /^(\d{1,15})-(\d{1,15})$/.exec(parts.get('w') || '');
  return {
    h: number('h'), t: number('t'), e: number('e'), run: number('run') || 0, from: number('from'), to: number('to'),
    node: number('node'), kind: parts.get('kind') || '', q: parts.get('q') || '',
    w: w && Number(w[1]) < Number(w[2]) ? [Number(w[1]), Number(w[2])] : null,
  };
}

function isFiltered() { return state.from !== null || state.to !== null || state.node !== null || state.kind || state.q; }

// Six or more digits name a timer, a block or a transaction; the log does not have timers, the words of the drill-down and of checks do.
function named() { return /^[0-9a-f]{6,64}$/i.test(state.q) ? state.q.toLowerCase() : ''; }

// The events that the filter leaves, by their numbers; computed once a filter.
function filtered(run) {
  const key = [state.from, state.to, state.node, state.kind, state.q].join('\n');
  if (run.filterKey === key) return run.filteredEvents;
  const found = [];
  const kind = state.kind ? run.kindOf.get(state.kind) ?? -1 : null;
  const q = state.q.toLowerCase(), about = run.heightsAbout(named());
  for (let i = 0; i < run.count; i++) {
    if (state.node !== null && run.mark_node[i] !== state.node) continue;
    if (kind !== null && run.mark_kind[i] !== kind) continue;
    if (state.from !== null || state.to !== null) {
      const height = run.height(i);
      if (height === null || (state.from !== null && height < state.from) || (state.to !== null && height > state.to)) continue;
    }
    if (q && !run.text(i).toLowerCase().includes(q) && !(run.isOfBlock(i) && about.has(run.height(i)))) continue;
    found.push(i);
  }
  run.filterKey = key;
  run.filteredEvents = found;
  run.passes = null;
  return found;
}

function passing(run) {
  const events = filtered(run);
  if (!run.passes) { run.passes = new Uint8Array(run.count); for (const i of events) run.passes[i] = 1; }
  return run.passes;
}

function windowOf(run) { return state.w || [0, run.end]; }

function selectHeight(run, height, keep = true) {
  if (height === null || height < 0) return;
  change({ h: height, run: run.index, t: run.timeOf.get(height) ?? state.t }, keep);
}

function selectEvent(run, i, keep = true) {
  const height = run.height(i);
  const patch = { e: i, run: run.index, t: run.mark_at[i] };
  if (height !== null) patch.h = height;
  const [from, to] = windowOf(run);
  if (state.w && (run.mark_at[i] < from || run.mark_at[i] > to)) {
    const half = (to - from) / 2;
    patch.w = [Math.max(0, run.mark_at[i] - half), Math.max(0, run.mark_at[i] - half) + 2 * half];
  }
  change(patch, keep);
}
