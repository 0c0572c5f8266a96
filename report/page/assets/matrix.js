// Heights against replicas, coloured by root group.
function matrixPane(run, root) {
  const box = root.querySelector('[data-pane=matrix]');
  const canvas = box.querySelector('canvas');
  const columns = run.rows.length ? run.cells.length / run.rows.length : 0;
  const ROW = 22, TOP = 18;
  let wide = 12, spacer = null;
  const heightOf = (column) => column * run.perTile + 1;
  const columnOf = (height) => Math.floor((height - 1) / run.perTile);

  function draw() {
    const width = box.clientWidth;
    // Paper does not scroll.
    wide = Math.max(document.documentElement.classList.contains('printing') ? 2 : 6, Math.min(16, width / Math.max(1, columns)));
    if (!spacer) { spacer = document.createElement('div'); box.append(spacer); box.addEventListener('scroll', announce); }
    const whole = Math.ceil(wide * columns);
    if (spacer.style.width !== whole + 'px') spacer.style.cssText = `width:${whole}px;height:1px`;
    const shown = Math.min(width, Math.max(whole, 1)), pen = sized(canvas, shown, TOP + ROW * run.rows.length);
    const left = box.scrollLeft, first = Math.floor(left / wide), last = Math.min(columns, Math.ceil((left + width) / wide) + 1);
    const at = (column) => column * wide - left;
    for (let column = first; column < last; column++) {
      if (heightOf(column) % Math.ceil(10 * run.perTile) === (run.perTile > 1 ? 1 : 0) || columns <= 12) {
        pen.fillStyle = colours.dim;
        const word = String(heightOf(column)), room = shown - pen.measureText(word).width - 2;
        pen.fillText(word, Math.min(at(column), Math.max(room, 0)), 9);
      }
      for (let row = 0; row < run.rows.length; row++) cell(pen, run.cells[row * columns + column], at(column), TOP + row * ROW);
    }
    outline(pen, run.divergence, colours.bad, at);
    outline(pen, state.h, colours.sel, at);
    const now = state.t === null ? null : run.heightAt(state.t);
    if (now) { pen.fillStyle = colours.sel; pen.fillRect(at(columnOf(now)), TOP - 3, wide - 1, 3); }
    canvas.dataset.cursor = String(now);
  }

  function cell(pen, value, x, y) {
    const group = value & 7;
    if (!value) { pen.fillStyle = colours.card; pen.fillRect(x, y + 1, wide - 1, ROW - 2); return; }
    pen.fillStyle = group ? colours['g' + group] : colours.card;
    pen.fillRect(x, y + 1, wide - 1, ROW - 2);
    if (value & 8) {
      pen.save();
      pen.beginPath(); pen.rect(x, y + 1, wide - 1, ROW - 2); pen.clip();
      pen.strokeStyle = group ? colours.hatch : colours.g1; pen.lineWidth = 2;
      pen.beginPath();
      for (let k = -ROW; k < wide; k += 5) { pen.moveTo(x + k, y + ROW); pen.lineTo(x + k + ROW, y); }
      pen.stroke(); pen.restore();
    }
    if (value & 16) { pen.strokeStyle = colours.g2; pen.lineWidth = wide < 10 ? 1.5 : 2; pen.strokeRect(x + 1, y + 2, wide - 3, ROW - 4); }
    if (value & 32) { pen.fillStyle = colours.g3; pen.fillRect(x, y + ROW - 5, wide - 1, 4); }
    if (value & 64) { pen.fillStyle = colours.fg; pen.beginPath(); pen.arc(x + wide / 2 - .5, y + ROW / 2, 2, 0, 7); pen.fill(); }
  }

  function outline(pen, height, colour, at) {
    if (!height || height > run.heights) return;
    pen.strokeStyle = colour; pen.lineWidth = 2;
    pen.strokeRect(at(columnOf(height)) - .5, TOP - 1, wide, ROW * run.rows.length + 2);
  }

  function reveal(height) {
    const x = columnOf(height) * wide;
    if (x < box.scrollLeft || x > box.scrollLeft + box.clientWidth - wide) box.scrollLeft = x - box.clientWidth / 2;
  }

  canvas.addEventListener('click', (event) => {
    const column = Math.floor((place(event, canvas)[0] + box.scrollLeft) / wide);
    if (column < columns) selectHeight(run, heightOf(column));
  });
  canvas.addEventListener('mousemove', (event) => {
    const [x, y] = place(event, canvas);
    const column = Math.floor((x + box.scrollLeft) / wide), row = Math.floor((y - TOP) / ROW);
    canvas.title = run.rows[row] && column < columns ? `${run.rows[row][0]}, height ${heightOf(column)}: ${words(run.cells[row * columns + column])}` : '';
  });

  function words(value) {
    const group = value & 7;
    const parts = [group === 0 ? (value & 8 ? 'executed a block that was not final' : 'nothing known') : group === 1 ? "the chain's root" : 'another root or block (group ' + group + ')'];
    if (group && value & 8) parts.push('executed, not final there');
    if (value & 16) parts.push('a block rolled back');
    if (value & 32) parts.push('a block taken back');
    if (value & 64) parts.push('executed again');
    return parts.join(', ');
  }

  tableOnDemand(root, 'matrix', () => table(
    ['height', 'root', ...run.rows.map((row) => row[0])],
    Array.from({ length: columns }, (_, column) => [heightOf(column), run.roots[heightOf(column) - 1] || '', ...run.rows.map((_, row) => words(run.cells[row * columns + column]))]),
  ));
  return { draw, reveal };
}
