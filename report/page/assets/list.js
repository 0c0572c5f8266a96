// The events beneath the lanes: those of the window that the filter leaves, around the selected one.
function listPane(run, root) {
  const box = root.querySelector('[data-pane=list]');
  const count = root.querySelector('[data-count]');
  const ROWS = 120;
  let shown = '';

  function draw() {
    const events = filtered(run), [from, to] = windowOf(run);
    const inside = state.w ? events.filter((i) => run.mark_at[i] >= from && run.mark_at[i] <= to) : events;
    count.textContent = `${events.length.toLocaleString('en')} of ${run.count.toLocaleString('en')} events pass the filter` + (state.w ? `, ${inside.length.toLocaleString('en')} of them in the window` : '');
    count.dataset.passing = String(events.length);
    const is_ours = state.run === run.index;
    let middle = is_ours && state.e !== null ? inside.indexOf(state.e) : -1;
    if (middle < 0 && state.t !== null) middle = inside.findIndex((i) => run.mark_at[i] >= state.t);
    const first = Math.max(0, Math.min(inside.length - ROWS, middle - ROWS / 2)), last = Math.min(inside.length, first + ROWS);
    const key = [run.filterKey, first, last, is_ours ? state.e : '', state.w].join();
    if (key === shown) return;
    shown = key;
    const made = table(['time', 'replica', 'height', 'event'], inside.slice(first, last).map((i) => [seconds(run.mark_at[i]), run.who(i), run.height(i) ?? '', run.text(i)]));
    made.querySelectorAll('tbody tr').forEach((row, place) => {
      const i = inside[first + place];
      row.dataset.event = String(i);
      if (is_ours && i === state.e) row.setAttribute('aria-selected', 'true');
    });
    box.replaceChildren(made);
    const selected = box.querySelector('[aria-selected]');
    if (selected) box.scrollTop = selected.offsetTop - box.clientHeight / 2;
  }

  box.addEventListener('click', (event) => { const row = event.target.closest('tr[data-event]'); if (row) selectEvent(run, Number(row.dataset.event)); });
  return { draw };
}
