// Heights against replicas: each cell shows its root, coloured by agreement with the oracle; each head the block.
function matrixPane(run, root) {
  const box = root.querySelector('[data-pane=matrix]');
  const canvas = box.querySelector('canvas');
  const readout = root.querySelector('[data-cell]');
  const columns = run.columns, ROW = 22, HEAD = 17, TOP = 4 * HEAD, kept = {};
  let wide = 56, spacer = null, pointed = null;

  function draw() {
    const width = box.clientWidth;
    // Paper does not scroll.
    const isPaper = document.documentElement.classList.contains('printing');
    wide = isPaper ? Math.max(2, Math.min(56, width / Math.max(1, columns))) : 56;
    if (!spacer) { spacer = document.createElement('div'); box.append(spacer); box.addEventListener('scroll', announce); }
    const whole = Math.ceil(wide * columns);
    if (spacer.style.width !== whole + 'px') spacer.style.cssText = `width:${whole}px;height:1px`;
    const shown = Math.min(width, Math.max(whole, 1)), pen = sized(canvas, shown, TOP + ROW * run.rows.length);
    const left = box.scrollLeft, first = Math.floor(left / wide), last = Math.min(columns, Math.ceil((left + width) / wide) + 1);
    const at = (column) => column * wide - left;
    backed(canvas, pen, kept, [left, wide, colours.bg].join(), (under) => {
      for (let column = first; column < last; column++) {
        if (wide > 40) head(under, column, at(column) + wide / 2);
        for (let row = 0; row < run.rows.length; row++) cell(under, row * columns + column, at(column), TOP + row * ROW);
      }
    });
    outline(pen, run.divergence, colours.bad, at);
    outline(pen, state.h, colours.sel, at);
    const now = state.t === null ? null : run.heightAt(state.t);
    if (now) { pen.fillStyle = colours.sel; pen.fillRect(at(run.columnOf(now)), TOP - 3, wide - 1, 3); }
    canvas.dataset.cursor = String(now);
    say();
  }

  function head(pen, column, middle) {
    const facts = column < run.fact_proposer.length ? [run.perTile > 1 ? '' : run.fact_proposer[column], run.fact_transactions[column], run.fact_timers[column]] : ['', '', ''];
    pen.textAlign = 'center';
    [run.heightOf(column), ...facts].forEach((value, line) => { pen.fillStyle = line ? colours.dim : colours.fg; pen.fillText(value.toLocaleString('en'), middle, HEAD * line + HEAD / 2); });
    pen.textAlign = 'left';
  }

  function cell(pen, place, x, y) {
    const value = run.cells[place], group = value & 7, colour = group ? colours[groupColour(group)] : colours.card;
    pen.fillStyle = value & 8 ? colours.bg : colour;
    pen.fillRect(x, y + 1, wide - 1, ROW - 2);
    if (value & 8) { pen.strokeStyle = group ? colour : colours.dim; pen.lineWidth = 2; pen.strokeRect(x + 1, y + 2, wide - 3, ROW - 4); }
    if (!value) return;
    const ink = value & 8 || !group ? colours.fg : colours.on;
    if (wide > 40 && group) {
      pen.fillStyle = ink; pen.font = '11px ui-monospace, monospace'; pen.textAlign = 'center';
      pen.fillText(run.roots[run.cell_root[place]].slice(0, 6) || (group === 1 ? '' : 'other'), x + wide / 2 - 1, y + ROW / 2);
      pen.font = FONT; pen.textAlign = 'left';
    }
    pen.fillStyle = ink;
    if (value & 16) { pen.beginPath(); pen.moveTo(x + 2, y + ROW - 3); pen.lineTo(x + 5, y + ROW - 9); pen.lineTo(x + 8, y + ROW - 3); pen.fill(); }
    if (value & 32) pen.fillRect(x + 2, y + 3, Math.min(wide - 5, 12), 2);
    if (value & 64) { pen.beginPath(); pen.arc(x + wide - 5, y + 6, 2, 0, 7); pen.fill(); }
  }

  function outline(pen, height, colour, at) {
    if (!height || height > run.heights) return;
    pen.strokeStyle = colour; pen.lineWidth = 2;
    pen.strokeRect(at(run.columnOf(height)) - .5, TOP - 1, wide, ROW * run.rows.length + 2);
  }

  function reveal(height) {
    const x = run.columnOf(height) * wide;
    if (x < box.scrollLeft || x > box.scrollLeft + box.clientWidth - wide) box.scrollLeft = x - box.clientWidth / 2;
  }

  function pointedAt(event) {
    const [x, y] = place(event, canvas);
    const column = Math.floor((x + box.scrollLeft) / wide), row = Math.floor((y - TOP) / ROW);
    return column < columns ? { column, row: run.rows[row] ? row : null } : null;
  }

  function say() {
    const column = pointed ? pointed.column : state.h === null ? null : run.columnOf(state.h);
    const text = column === null || column >= columns || column < 0 ? 'Point at a cell, or tap it, to read it.' : (pointed && pointed.row !== null ? run.rows[pointed.row][0] + ', ' : '') + run.blockText(column, pointed ? pointed.row : null);
    if (readout.textContent !== text) readout.textContent = text;
  }

  canvas.addEventListener('click', (event) => {
    pointed = pointedAt(event);
    if (pointed) selectHeight(run, run.heightOf(pointed.column));
  });
  canvas.addEventListener('mousemove', (event) => { pointed = pointedAt(event); say(); });
  canvas.addEventListener('mouseleave', () => { pointed = null; say(); });

  const any = (flag) => run.cells.some((value) => value & flag);
  legend(root.querySelector('[data-legend=matrix]'), [
    ...run.groupLegend(), ...(any(8) ? [['c-spec', 'executed, not final there']] : []), ...(any(16) ? [['c-drop', 'also rolled back an executed block']] : []),
    ...(any(32) ? [['c-undo', 'applied and rewound']] : []), ...(any(64) ? [['c-replay', 'executed again']] : []),
    ...(run.divergence ? [['c-parted', 'first height that differs']] : []), ['c-sel', 'selected height'],
  ]);
  tableOnDemand(root, 'matrix', () => table(
    ['height', 'root', 'proposer', 'transactions', 'timers', ...run.rows.map((row) => row[0])],
    Array.from({ length: columns }, (_, column) => [run.heightOf(column), run.rootOf(column), run.fact_proposer[column] ?? '', run.fact_transactions[column] ?? '', run.fact_timers[column] ?? '', ...run.rows.map((_, row) => run.cellText(row * columns + column))]),
  ));
  return { draw, reveal };
}
