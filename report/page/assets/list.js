// The events beneath the lanes: those of the window that the filter leaves, around the selected one.
function listPane(run, root) {
  const box = root.querySelector('[data-pane=list]');
  const count = root.querySelector('[data-count]'), lift = root.querySelector('[data-lift]');
  const ROWS = 120, MARGIN = 12;
  let key = '', first = 0, last = 0, lit = null, middle = -1;

  function draw() {
    const events = filtered(run), [from, to] = windowOf(run);
    const inside = state.w ? events.filter((i) => run.mark_at[i] >= from && run.mark_at[i] <= to) : events;
    const said = `${events.length.toLocaleString('en')} of ${run.count.toLocaleString('en')} events pass the filter` + (state.w ? `, ${inside.length.toLocaleString('en')} of them in the window, from ${seconds(from)} to ${seconds(to)}` : '');
    if (count.textContent !== said) count.textContent = said;
    lift.hidden = !state.w;
    const selected = state.run === run.index && state.e !== null ? inside.indexOf(state.e) : -1;
    const now = selected >= 0 ? selected : atCursor(inside);
    const wanted = [run.filterKey, state.w].join();
    // Rows that have the place of the cursor well inside stay: to make them anew is the dearest part of a step.
    const isInside = wanted === key && now >= (first ? first + MARGIN : 0) && now < (last < inside.length ? last - MARGIN : last);
    if (!isInside) fill(inside, now);
    if (isInside && now === middle && Number(lit?.dataset.event ?? -1) === (inside[selected] ?? -1)) return;
    key = wanted;
    middle = now;
    lit?.removeAttribute('aria-selected');
    const row = box.querySelector('tbody').rows[now - first];
    lit = selected >= 0 ? row : null;
    lit?.setAttribute('aria-selected', 'true');
    if (row && now > 0) box.scrollTop = row.offsetTop - box.clientHeight / 2;
  }

  // The first event at or after the cursor; the last one where all are before it.
  function atCursor(inside) {
    if (state.t === null) return 0;
    const found = inside.findIndex((i) => run.mark_at[i] >= state.t);
    return found < 0 ? inside.length - 1 : found;
  }

  function fill(inside, now) {
    first = Math.max(0, Math.min(inside.length - ROWS, now - ROWS / 2));
    last = Math.min(inside.length, first + ROWS);
    const made = table(['time, s', 'replica', 'height', 'event'], inside.slice(first, last).map((i) => [exactly(run.mark_at[i]), run.who(i), run.height(i) ?? '', run.text(i)]));
    const rows = made.tBodies[0].rows;
    for (let place = 0; place < rows.length; place++) {
      rows[place].dataset.event = String(inside[first + place]);
      rows[place].classList.toggle('marked', run.isOfMarked(inside[first + place]));
    }
    box.replaceChildren(made);
    lit = null;
  }

  box.addEventListener('click', (event) => { const row = event.target.closest('tr[data-event]'); if (row) selectEvent(run, Number(row.dataset.event)); });
  return { draw };
}
