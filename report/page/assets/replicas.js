// Events of replicas over virtual time, the faults above them in rows of their own.
function replicasPane(run, root) {
  const box = root.querySelector('[data-pane=replicas]');
  const canvas = box.querySelector('canvas');
  // Many replicas have lower rows, so that the picture of 64 is no longer than two screens.
  const LEFT = 52, ROW = run.replicas > 16 ? 24 : 40, BAND = 18, AXIS = 22, MESSAGES = 900;
  const STYLE = { enter: ['dim', 4], vote: ['f3', 11], certificate: ['f2', 17], executed: ['f4', 24], finalized: ['fired', 31], boot: ['good', 36], restart: ['good', 36] };
  for (const kind of MESSAGE_KINDS) STYLE[kind] = ['sel', 20];
  const deep = (kind) => (STYLE[kind] || ['', 35])[1] * ROW / 40;
  let bands = [], top = 0, drag = null, wide = 0;
  const kept = {};

  // Asked once a picture: the browser may lay the page out for each answer.
  const width = () => wide;
  const x = (t, [from, to]) => LEFT + (width() - LEFT - 8) * (t - from) / (to - from);
  const time = (px, [from, to]) => from + (to - from) * Math.min(1, Math.max(0, (px - LEFT) / (width() - LEFT - 8)));
  const rowY = (node) => top + node * ROW;

  function draw() {
    wide = box.clientWidth;
    const win = windowOf(run);
    const probe = canvas.getContext('2d');
    probe.font = FONT;
    const packed = packBands(probe, run, (t) => x(t, win), LEFT, width() - 8);
    bands = packed.bands;
    top = packed.rows * BAND + 6;
    const high = top + run.replicas * ROW + AXIS;
    const pen = sized(canvas, wide, high);
    filtered(run);
    backed(canvas, pen, kept, [win, run.filterKey, colours.bg].join(), (under) => still(under, win, high));
    selected(pen, win);
    if (state.t !== null && state.t >= win[0] && state.t <= win[1]) {
      pen.strokeStyle = colours.sel; pen.lineWidth = 1;
      pen.beginPath(); pen.moveTo(x(state.t, win), 0); pen.lineTo(x(state.t, win), high - AXIS); pen.stroke();
    }
    if (drag) { pen.fillStyle = colours.sel; pen.globalAlpha = .18; pen.fillRect(Math.min(drag[0], drag[1]), 0, Math.abs(drag[1] - drag[0]), high); pen.globalAlpha = 1; }
    canvas.dataset.cursor = String(state.t);
  }

  // The picture without cursor and selection.
  function still(pen, win, high) {
    shade(pen, win);
    for (const band of bands) {
      pen.fillStyle = faultColour(band.fault);
      pen.globalAlpha = .35; pen.fillRect(band.from, band.row * BAND + 2, band.to - band.from, BAND - 4);
      pen.globalAlpha = .06;
      for (const node of band.targets.length ? band.targets : Array.from({ length: run.replicas }, (_, n) => n)) pen.fillRect(band.from, rowY(node), band.to - band.from, ROW - 2);
      pen.globalAlpha = 1;
      pen.fillStyle = colours.fg;
      pen.fillText(band.label, band.left + 4, band.row * BAND + BAND / 2);
    }
    axis(pen, win, high);
    messages(pen, win);
    marks(pen, win);
  }

  function shade(pen, win) {
    const columns = run.density.length / Math.max(1, run.replicas);
    let most = 1;
    for (const count of run.density) if (count > most) most = count;
    for (let node = 0; node < run.replicas; node++) {
      pen.fillStyle = colours.card; pen.fillRect(LEFT, rowY(node), width() - LEFT - 8, ROW - 2);
      pen.fillStyle = colours.g1;
      for (let column = 0; column < columns; column++) {
        const count = run.density[node * columns + column];
        if (!count) continue;
        const from = x(run.end * column / columns, win), to = x(run.end * (column + 1) / columns, win);
        if (to < LEFT || from > width() - 8) continue;
        pen.globalAlpha = .05 + .2 * count / most;
        pen.fillRect(Math.max(LEFT, from), rowY(node), Math.min(to, width() - 8) - Math.max(LEFT, from), ROW - 2);
      }
      pen.globalAlpha = 1;
      pen.fillStyle = colours.fg;
      pen.fillText(run.rows[node][0].replace('validator ', 'val. ').replace('observer ', '').slice(0, 9), 2, rowY(node) + ROW / 2 - 1);
    }
    const sided = run.faults.flatMap(([, , , windows, sides]) => windows.flatMap(([since, until]) => sides.flatMap((nodes, side) => nodes.map((node) => [node, since, until, sideName(side), colours[SIDES[side % 4]]]))));
    for (const [node, since, until, word, colour] of [...sided, ...run.alone]) {
      const from = Math.max(LEFT, x(since, win)), to = Math.min(width() - 8, x(until, win));
      if (to <= from) continue;
      pen.fillStyle = colour || colours.apart; pen.fillRect(from, rowY(node) + 2, to - from, ROW - 6);
      if (to - from > pen.measureText(word).width + 8) { pen.fillStyle = colours.fg; pen.fillText(word, from + 4, rowY(node) + ROW / 2 - 1); }
    }
    for (const [machine, since, until] of run.lives) {
      const from = Math.max(LEFT, x(since, win)), to = Math.min(width() - 8, x(until, win));
      if (to <= from) continue;
      pen.fillStyle = colours.off; pen.fillRect(from, rowY(machine) + 2, to - from, ROW - 6);
      if (to - from > 40) { pen.fillStyle = colours.fg; pen.fillText('down', from + 6, rowY(machine) + ROW / 2 - 1); }
    }
  }

  function axis(pen, win, high) {
    const each = step(win[1] - win[0], width() / 110);
    pen.fillStyle = colours.dim; pen.strokeStyle = colours.line; pen.lineWidth = 1; pen.textAlign = 'center';
    for (let t = Math.ceil(win[0] / each) * each; t <= win[1]; t += each) {
      pen.beginPath(); pen.moveTo(x(t, win), top); pen.lineTo(x(t, win), high - AXIS + 4); pen.stroke();
      pen.fillText(String(+(t / 1e6).toFixed(4)) + ' s', Math.min(Math.max(x(t, win), LEFT + 10), width() - 26), high - AXIS / 2);
    }
    pen.textAlign = 'left';
  }

  function marks(pen, win) {
    const passes = passing(run);
    const px = (width() - LEFT) / (win[1] - win[0]);
    const last = {};
    for (let i = 0; i < run.count; i++) {
      const t = run.mark_at[i], node = run.mark_node[i];
      if (t < win[0] || t > win[1] || node >= run.replicas || !passes[i]) continue;
      const kind = run.kinds[run.mark_kind[i]];
      const [colour] = STYLE[kind] || ['bad'], y = deep(kind);
      const leads = kind === 'enter' && run.titles[run.mark_words[i]] === 'led by ' + node;
      pen.fillStyle = leads ? colours.f0 : colours[colour];
      const size = leads || !STYLE[kind] ? 5 : px > 2e-4 ? 4 : 2;
      // A mark on top of one of its kind is not seen, and thousands of them take a tenth of a second.
      if (STYLE[kind] && !leads) {
        const at = kind + node;
        if (x(t, win) - last[at] < 1) continue;
        last[at] = x(t, win);
      }
      if (STYLE[kind]) pen.fillRect(x(t, win) - size / 2, rowY(node) + y - size / 2, size, size);
      else { pen.beginPath(); pen.moveTo(x(t, win), rowY(node) + ROW - 10); pen.lineTo(x(t, win) - 4, rowY(node) + ROW - 2); pen.lineTo(x(t, win) + 4, rowY(node) + ROW - 2); pen.fill(); }
    }
  }

  function selected(pen, win) {
    const i = state.e;
    if (i !== null && state.run === run.index && i < run.count && run.mark_node[i] < run.replicas) {
      const y = deep(run.kinds[run.mark_kind[i]]);
      pen.strokeStyle = colours.sel; pen.lineWidth = 2;
      pen.beginPath(); pen.arc(x(run.mark_at[i], win), rowY(run.mark_node[i]) + y, 6, 0, 7); pen.stroke();
    }
  }

  function messages(pen, win) {
    const shown = [];
    for (let i = 0; i < run.message_at.length; i++) {
      const end = run.message_arrives[i] < 0 ? run.message_at[i] : run.message_arrives[i];
      if (end >= win[0] && run.message_at[i] <= win[1]) shown.push(i);
    }
    const mid = (node) => rowY(node) + ROW / 2 - 1, isMarked = (i) => run.message_fate[i] & 4, names = [];
    // Marked messages lie above all others, and are drawn among too many too.
    for (const i of [...(shown.length > MESSAGES ? [] : shown.filter((each) => !isMarked(each))), ...shown.filter(isMarked)]) {
      const [from, to] = [run.message_from[i], run.message_to[i]];
      if (from >= run.replicas || to >= run.replicas || (state.node !== null && state.node !== from && state.node !== to)) continue;
      const fate = run.message_fate[i] & 3, is_lost = fate === 1, x0 = x(run.message_at[i], win);
      pen.strokeStyle = isMarked(i) ? colours.sel : is_lost ? colours.bad : fate === 2 ? colours.f0 : colours.dim;
      pen.lineWidth = isMarked(i) ? 3 : is_lost ? 1.5 : .6;
      pen.beginPath(); pen.moveTo(x0, mid(from));
      if (run.message_arrives[i] < 0) {
        const size = isMarked(i) ? 5 : 3, x1 = x0 + 2 * size, y = mid(from) + Math.sign(to - from) * ROW * .35;
        pen.lineTo(x1, y); pen.moveTo(x1 - size, y - size); pen.lineTo(x1 + size, y + size); pen.moveTo(x1 + size, y - size); pen.lineTo(x1 - size, y + size);
      } else pen.lineTo(x(run.message_arrives[i], win), mid(to));
      pen.stroke();
      if (isMarked(i)) names.push([i, (mid(from) + mid(to)) / 2, Math.max(x0, x(Math.max(0, run.message_arrives[i]), win))]);
    }
    for (const [i, y, right] of names) named(pen, i, y, right);
  }

  // Beside a marked message stands the beginning of the sentence about its draw.
  function named(pen, i, y, right) {
    const text = fitted(pen, run.titles[run.message_label[i]].split(/[:,]/)[0], width() / 2), wide = pen.measureText(text).width;
    worded(pen, text, right + 14 + wide < width() - 8 ? right + 14 : Math.max(LEFT, right - 30 - wide), y, colours.fg, 'left');
  }

  function nearest(px, py, win) {
    const node = Math.floor((py - top) / ROW);
    const passes = passing(run);
    let best = null, distance = 10;
    for (let i = 0; i < run.count; i++) {
      if (run.mark_node[i] !== node || !passes[i]) continue;
      const dx = Math.abs(x(run.mark_at[i], win) - px);
      const dy = Math.abs(deep(run.kinds[run.mark_kind[i]]) - (py - rowY(node)));
      if (dx + dy / 4 < distance) { distance = dx + dy / 4; best = i; }
    }
    return best;
  }

  function zoom(how) {
    const [from, to] = windowOf(run), span = to - from;
    const middle = state.t !== null && state.t >= from && state.t <= to ? state.t : from + span / 2;
    const next = { in: [middle - span / 6, middle + span / 6], out: [middle - span * 1.5, middle + span * 1.5], left: [from - span / 3, to - span / 3], right: [from + span / 3, to + span / 3] }[how];
    if (!next) { change({ w: null }, true); return; }
    const wide = Math.min(run.end, Math.max(1000, next[1] - next[0]));
    const begin = Math.max(0, Math.min(next[0], run.end - wide));
    change({ w: wide >= run.end ? null : [begin, begin + wide] }, true);
  }

  canvas.addEventListener('pointerdown', (event) => { if (event.pointerType === 'mouse') { drag = [place(event, canvas)[0], place(event, canvas)[0]]; canvas.setPointerCapture(event.pointerId); } });
  canvas.addEventListener('pointermove', (event) => {
    const [px, py] = place(event, canvas), win = windowOf(run);
    if (drag) { drag[1] = px; announce(); return; }
    change({ t: Math.round(time(px, win)) });
    const band = bands.find((each) => py >= each.row * BAND && py < (each.row + 1) * BAND && px >= each.from && px <= each.to);
    const found = band ? null : nearest(px, py, win);
    canvas.title = band ? `${run.faults[band.fault][0]}: ${band.sentence}` : found === null ? '' : `${seconds(run.mark_at[found])} ${run.who(found)}: ${run.text(found)}`;
  });
  canvas.addEventListener('pointerup', (event) => {
    const win = windowOf(run), [px, py] = place(event, canvas);
    const [from, to] = drag ? [Math.min(...drag), Math.max(...drag)] : [px, px];
    drag = null;
    if (to - from > 6) { const w = [time(from, win), time(to, win)]; if (w[1] - w[0] >= 1000) change({ w }, true); return; }
    const found = nearest(px, py, win);
    if (found === null) change({ t: Math.round(time(px, win)) }); else selectEvent(run, found);
  });
  canvas.addEventListener('dblclick', () => zoom('all'));
  for (const button of root.querySelectorAll('[data-zoom]')) button.addEventListener('click', () => zoom(button.dataset.zoom));
  return { draw, zoom };
}
