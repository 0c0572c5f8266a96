// The course of a run on one axis of time: faults, then the roots of each replica, then timers.

// Virtual time from left to right; long stretches in which nothing happens are folded to a fixed width.
class Axis {
  constructor(run) {
    const first = run.firstFinal.filter(Number.isFinite).sort((a, b) => a - b), edges = [0, run.end];
    for (const at of run.finalTimes) edges.push(at);
    for (const [, , , windows] of run.faults) for (const [start, stop] of windows) edges.push(start, stop);
    for (const [, since, until] of run.lives) edges.push(since, until);
    const times = [...new Set(edges.filter((t) => t >= 0 && t <= run.end))].sort((a, b) => a - b);
    const gaps = first.slice(1).map((t, i) => t - first[i]).sort((a, b) => a - b);
    this.typical = gaps.length ? gaps[gaps.length >> 1] : run.end / 20;
    const least = Math.max(run.end / 8, 15 * this.typical);
    this.folds = [];
    for (let i = 1; i < times.length; i++) if (times[i] - times[i - 1] > least) this.folds.push([times[i - 1], times[i]]);
    this.end = run.end;
    this.open = run.end - this.folds.reduce((sum, [from, to]) => sum + to - from, 0);
  }

  place(left, width) {
    this.left = left;
    this.width = width;
    this.fold = this.folds.length ? Math.min(Math.max(Math.min(86, width * .23), width * .07), width * .4 / this.folds.length) : 0;
    this.each = (width - this.fold * this.folds.length) / Math.max(1, this.open);
  }

  x(t) {
    let x = this.left, from = 0;
    for (const [since, until] of this.folds) {
      if (t < since) break;
      x += (since - from) * this.each;
      if (t < until) return x + this.fold * (t - since) / (until - since);
      x += this.fold;
      from = until;
    }
    return x + (t - from) * this.each;
  }

  time(px) {
    let x = this.left, from = 0;
    for (const [since, until] of this.folds) {
      const wide = (since - from) * this.each;
      if (px < x + wide) break;
      x += wide;
      if (px < x + this.fold) return since + (until - since) * (px - x) / this.fold;
      x += this.fold;
      from = until;
    }
    return Math.max(0, Math.min(this.end, from + (px - x) / this.each));
  }

  // Seconds with each fold as long as a twentieth of the rest, for pictures that have a scale of their own.
  flat(t) {
    const fold = this.open / 20;
    let less = 0;
    for (const [since, until] of this.folds) {
      if (t >= until) less += until - since - fold;
      else if (t > since) less += (t - since) * (1 - fold / (until - since));
    }
    return (t - less) / 1e6;
  }

  // Readable times between two places of the flat scale.
  ticks(count) {
    const each = step(this.open, count), found = [];
    for (let t = 0; t <= this.end; t += each) if (!this.isFolded(t)) found.push(t);
    return found;
  }

  isFolded(t) { return this.folds.some(([since, until]) => t > since && t < until); }
}

function shortTime(us) { return (us / 1e6).toLocaleString('en', { maximumFractionDigits: us < 1e7 ? 1 : 0 }) + ' s'; }

function overviewPane(run, root) {
  const box = root.querySelector('[data-pane=overview]');
  const canvas = box.querySelector('canvas');
  const readout = root.querySelector('[data-readout]');
  const axis = run.axis, columns = run.columns, kept = {};
  const many = run.rows.length, ROW = many <= 8 ? 26 : many <= 24 ? 16 : 7, BAND = 18, HEIGHTS = 18, FOOT = 20;
  const STRIP = 56, HEAD = 18;
  const LEAVE = { fired: [['fired', 'fired']], removed: [['expired', 'dead'], ['insolvent', 'insolvent'], ['cancelled', 'g4']] };
  const TITLES = {
    waiting: ['dead timers that wait after each block, and the predicted drain', 'dead timers that wait'],
    removed: ['timers removed in each block without a fire', 'timers removed in each block'],
    fired: ['live timers fired in each block', 'timers fired in each block'],
  };
  const SAID = { fired: 'timer fired', expired: 'dead timer removed: expired', insolvent: 'dead timer removed: insolvent', cancelled: 'timer cancelled' };
  const has = (name) => run['storm_' + name] && run['storm_' + name].some((value) => value > 0);
  const strips = [];
  if (has('waiting_dead')) strips.push('waiting');
  for (const name of ['removed', 'fired']) if (LEAVE[name].some(([each]) => has(each))) strips.push(name);
  const alone = run.alone;
  let bands = [], top = 0, left = 0, wide = 0, below = 0, high = 0;
  const rowY = (row) => top + HEIGHTS + row * ROW;

  function layOut(pen) {
    const names = run.rows.map(([name]) => wide < 600 ? name.replace('validator ', 'val. ').replace('observer ', '') : name.replace('observer ', ''));
    const most = Math.max(...run.stormMost.map((text) => pen.measureText(text).width), ...names.map((name) => pen.measureText(name).width));
    left = Math.min(Math.ceil(most) + 10, 110);
    axis.place(left, wide - left - 10);
    axis.place(left, wide - left - 10 - blockWide());
    const packed = packBands(pen, run, (t) => axis.x(t), left, wide - 8);
    bands = packed.bands;
    top = packed.rows * BAND + 2;
    below = rowY(many) + 8;
    high = below + strips.length * (STRIP + HEAD) + FOOT;
    return names;
  }

  function draw() {
    wide = box.clientWidth;
    const probe = canvas.getContext('2d');
    probe.font = FONT;
    const names = layOut(probe), pen = sized(canvas, wide, high);
    backed(canvas, pen, kept, [wide, colours.bg].join(), (under) => still(under, names));
    const at = state.t === null ? null : axis.x(state.t);
    if (at !== null && state.t <= run.end) {
      pen.strokeStyle = colours.sel; pen.lineWidth = 1;
      pen.beginPath(); pen.moveTo(at, top); pen.lineTo(at, high - FOOT); pen.stroke();
    }
    if (state.h !== null) for (let row = 0; row < many; row++) mark(pen, row, run.columnOf(state.h));
    canvas.dataset.cursor = String(state.t);
    canvas.dataset.folds = axis.folds.map(([since, until]) => shortTime(until - since)).join();
    say();
  }

  // Outlines the selected block in each row.
  function mark(pen, row, column) {
    const at = column < columns ? run.cell_ms[row * columns + column] : NONE;
    if (at === NONE || at === undefined) return;
    pen.strokeStyle = colours.sel; pen.lineWidth = 1.5;
    pen.strokeRect(axis.x(at * 1000) - 1, rowY(row) + 1, blockWide() + 1, ROW - 3);
  }

  function still(pen, names) {
    bandsAbove(pen);
    ground(pen, names);
    grid(pen);
    apart(pen);
    folded(pen);
    blocks(pen);
    drops(pen);
    strips.forEach((name, i) => strip(pen, name, below + i * (STRIP + HEAD)));
  }

  function bandsAbove(pen) {
    for (const band of bands) {
      pen.fillStyle = faultColour(band.fault); pen.globalAlpha = .35;
      pen.fillRect(band.from, band.row * BAND + 1, band.to - band.from, BAND - 3);
      pen.globalAlpha = 1; pen.fillStyle = colours.fg;
      pen.fillText(band.label, band.left + 4, band.row * BAND + BAND / 2);
    }
  }

  function ground(pen, names) {
    const every = Math.max(1, Math.ceil(13 / ROW));
    for (let row = 0; row < many; row++) {
      pen.fillStyle = colours.card; pen.fillRect(left, rowY(row), wide - left - 8, ROW - 1);
      if (row % every) continue;
      pen.fillStyle = colours.fg; pen.fillText(fitted(pen, names[row], left - 8), 2, rowY(row) + ROW / 2);
    }
    pen.fillStyle = colours.dim; pen.fillText('height', 2, top + HEIGHTS / 2);
  }

  function grid(pen) {
    pen.strokeStyle = colours.line; pen.fillStyle = colours.dim; pen.lineWidth = 1; pen.textAlign = 'center';
    const taken = axis.folds.map(([since, until]) => [axis.x(since), axis.x(until)]);
    let free = left - 20;
    for (const t of axis.ticks(wide / 100)) {
      const x = axis.x(t);
      pen.beginPath(); pen.moveTo(x, top + HEIGHTS); pen.lineTo(x, high - FOOT + 3); pen.stroke();
      const word = shortTime(t), half = pen.measureText(word).width / 2;
      const middle = Math.min(Math.max(x, left + half), wide - half - 2);
      if (middle - half < free + 8 || taken.some(([from, to]) => middle + half > from && middle - half < to)) continue;
      pen.fillText(word, middle, high - FOOT / 2 + 2);
      free = middle + half;
    }
    // Heights stand above the blocks of which they are.
    free = left - 20;
    const first = run.firstFinal;
    for (let i = 0; i < first.length; i++) {
      if (!Number.isFinite(first[i])) continue;
      // Blocks that became final together share one place.
      let last = i;
      while (last + 1 < first.length && Math.abs(axis.x(first[last + 1]) - axis.x(first[i])) < 2) last++;
      const word = run.heightOf(i) + (last > i && last + 1 < first.length ? '\u2013' + run.heightOf(last) : ''), half = pen.measureText(word).width / 2;
      const x = Math.min(axis.x(first[i]) + blockWide() / 2, wide - half - 2);
      i = last;
      if (x - half < free + 12) continue;
      pen.fillText(word, x, top + HEIGHTS / 2);
      free = x + half;
    }
    pen.textAlign = 'left';
  }

  const blockWide = () => Math.max(3, Math.min(52, axis.typical * axis.each) - 1);

  // Sides of a partition, replicas that are down, paused or cut off: behind the blocks.
  function apart(pen) {
    run.faults.forEach(([, , , windows, sides]) => {
      for (const [start, stop] of windows) sides.forEach((nodes, side) => {
        for (const node of nodes) stretch(pen, node, start, stop, colours[SIDES[side % 4]], sideName(side));
      });
    });
    for (const [node, since, until, word] of alone) stretch(pen, node, since, until, colours.apart, word);
    for (const [node, since, until] of run.lives) stretch(pen, node, since, until, colours.off, 'down');
  }

  function stretch(pen, node, since, until, colour, word) {
    if (node >= run.replicas) return;
    const from = axis.x(since), to = Math.max(from + 1, axis.x(until));
    pen.fillStyle = colour; pen.fillRect(from, rowY(node), to - from, ROW - 1);
    if (ROW < 13 || to - from < pen.measureText(word).width + 8) return;
    const cells = run.cell_ms.subarray(node * columns, (node + 1) * columns);
    const half = pen.measureText(word).width / 2 + 3, middle = (from + to) / 2;
    const isCovered = cells.some((at) => at !== NONE && axis.x(at * 1000) < middle + half && axis.x(at * 1000) + blockWide() > middle - half);
    if (!isCovered) { pen.fillStyle = colours.fg; pen.textAlign = 'center'; pen.fillText(word, middle, rowY(node) + ROW / 2); pen.textAlign = 'left'; }
  }

  // What differs is painted last: of blocks that share a pixel it is the one to see.
  function blocks(pen) {
    const inset = ROW > 10 ? 3 : 1, size = blockWide();
    for (const wanted of [1, 7, 2]) {
      for (let row = 0; row < many; row++) {
        let next = Infinity;
        for (let column = columns - 1; column >= 0; column--) {
          const at = run.cell_ms[row * columns + column], group = run.cells[row * columns + column] & 7;
          if (at === NONE || !group) continue;
          const x = axis.x(at * 1000), room = Math.max(1, next - x - (next - x > 3 ? 1 : 0));
          next = x;
          if ((group > 1 && group < 7 ? 2 : group) !== wanted) continue;
          pen.fillStyle = colours[groupColour(group)];
          pen.fillRect(x, rowY(row) + inset, wanted === 2 ? Math.max(4, Math.min(size, room)) : Math.min(size, room), ROW - 1 - 2 * inset);
          const root = run.roots[run.cell_root[row * columns + column]];
          if (ROW > 20 && Math.min(size, room) > 46 && root) {
            pen.fillStyle = colours.on; pen.font = '11px ui-monospace, monospace'; pen.fillText(root.slice(0, 6), x + 4, rowY(row) + ROW / 2); pen.font = FONT;
          } else if (wanted === 2 && ROW > 10 && size > 6) crossed(pen, x, rowY(row) + inset, Math.min(size, room), ROW - 1 - 2 * inset);
        }
      }
    }
  }

  function drops(pen) {
    pen.fillStyle = colours.fg;
    for (const [at, node] of run.arcs) {
      if (node >= run.replicas) continue;
      const x = axis.x(at), y = rowY(node) + ROW - 2;
      pen.beginPath(); pen.moveTo(x, y - Math.min(9, ROW - 3)); pen.lineTo(x - 4, y); pen.lineTo(x + 4, y); pen.fill();
    }
  }

  // A fold is hatched at both ends and says how long it is.
  function folded(pen) {
    for (const [since, until] of axis.folds) {
      const from = axis.x(since), to = axis.x(until);
      pen.strokeStyle = colours.fg; pen.lineWidth = 1; pen.setLineDash([2, 3]);
      for (const x of [from, to]) { pen.beginPath(); pen.moveTo(x, top + HEIGHTS); pen.lineTo(x, high - FOOT); pen.stroke(); }
      pen.setLineDash([]);
      const long = shortTime(until - since);
      const word = [`${long} folded`, long].find((each) => pen.measureText(each).width < to - from - 4) || long;
      worded(pen, word, (from + to) / 2, high - FOOT / 2 + 2, colours.fg, 'center');
    }
  }

  function strip(pen, name, y) {
    const bottom = y + HEAD + STRIP - 8, deep = STRIP - 12;
    const heights = run.storm_height, at = (i) => axis.x(run.stormTimes[i]);
    const isWaiting = name === 'waiting', parts = LEAVE[name];
    const sum = (i) => parts.reduce((total, [each]) => total + run['storm_' + each][i], 0);
    let most = 1;
    for (let i = 0; i < heights.length; i++) most = Math.max(most, isWaiting ? Math.max(run.storm_waiting_dead[i], run.storm_predicted[i]) : sum(i));
    const Y = (value) => bottom - deep * value / most;
    const words = TITLES[name];
    worded(pen, words.find((each) => pen.measureText(each).width < wide - left - 8) || words[1], left, y + HEAD / 2, colours.dim, 'left');
    pen.fillStyle = colours.dim; pen.textAlign = 'right'; pen.fillText(most.toLocaleString('en'), left - 5, Y(most) + 2); pen.fillText('0', left - 5, bottom - 4); pen.textAlign = 'left';
    pen.strokeStyle = colours.line; pen.lineWidth = 1;
    for (const value of [0, most]) { pen.beginPath(); pen.moveTo(left, Y(value)); pen.lineTo(wide - 8, Y(value)); pen.stroke(); }
    if (!isWaiting) {
      const size = Math.max(2, blockWide());
      for (let i = 0; i < heights.length; i++) {
        let base = 0;
        const room = i + 1 < heights.length ? Math.max(1, Math.min(size, at(i + 1) - at(i) - (at(i + 1) - at(i) > 3 ? 1 : 0))) : size;
        for (const [each, colour] of parts) {
          const value = run['storm_' + each][i];
          if (!value) continue;
          pen.fillStyle = colours[colour];
          const tall = Math.max(1.5, deep * value / most);
          pen.fillRect(at(i), Y(base) - tall, room, tall);
          base += value;
        }
      }
      return;
    }
    const steps = (values, from = 0) => {
      pen.beginPath();
      let begun = false;
      for (let i = from; i < heights.length; i++) {
        if (values[i] < 0) continue;
        if (!begun) { pen.moveTo(at(i), Y(values[i])); begun = true; }
        pen.lineTo(at(i), Y(values[i]));
        pen.lineTo(i + 1 < heights.length ? at(i + 1) : at(i) + blockWide(), Y(values[i]));
      }
    };
    steps(run.storm_waiting_dead);
    pen.strokeStyle = colours.dead; pen.lineWidth = 1.5; pen.stroke();
    pen.lineTo(at(heights.length - 1), bottom); pen.lineTo(at(0), bottom); pen.closePath();
    pen.fillStyle = colours.dead; pen.globalAlpha = .35; pen.fill(); pen.globalAlpha = 1;
    steps(run.storm_predicted); pen.strokeStyle = colours.fg; pen.lineWidth = 1.5; pen.setLineDash([5, 4]); pen.stroke(); pen.setLineDash([]);
  }

  // The block under the pointer: of the row, the last one that was final there at this time.
  function under(px, py) {
    const row = Math.floor((py - top - HEIGHTS) / ROW), t = axis.time(px);
    const from = row >= 0 && row < many ? row : null;
    let best = null, latest = -1;
    for (let column = 0; column < columns; column++) {
      const at = from === null ? run.firstFinal[column] / 1000 : run.cell_ms[from * columns + column];
      if (at !== NONE && Number.isFinite(at) && axis.x(at * 1000) <= px + 1 && at >= latest) { latest = at; best = column; }
    }
    return { t, row: from, column: best };
  }

  let pointed = null;
  function say() {
    const column = pointed ? pointed.column : state.h === null ? null : run.columnOf(state.h);
    const text = column === null || column >= columns || column < 0 ? 'Point at the picture, or tap it, to read a block. A click selects its height.' : (pointed && pointed.row !== null ? run.rows[pointed.row][0] + ', ' : '') + run.blockText(column, pointed ? pointed.row : null);
    if (readout.textContent !== text) readout.textContent = text;
  }

  canvas.addEventListener('pointermove', (event) => {
    const [px, py] = place(event, canvas);
    pointed = under(px, py);
    const band = bands.find((each) => py >= each.row * BAND && py < (each.row + 1) * BAND && px >= each.from && px <= each.to);
    canvas.title = band ? `${run.faults[band.fault][0]}: ${band.sentence}` : '';
    change({ t: Math.round(pointed.t) });
  });
  canvas.addEventListener('pointerleave', () => { pointed = null; announce(); });
  canvas.addEventListener('click', (event) => {
    const found = under(...place(event, canvas));
    if (found.column !== null) selectHeight(run, run.heightOf(found.column));
  });

  legend(root.querySelector('[data-legend=overview]'), [
    ...run.groupLegend(), ...run.faults.map(([name], i) => [`c-f${i % 6} faint`, 'fault ' + name]),
    ...run.faults.flatMap(([name, , , windows, sides]) => windows.length ? sides.map((nodes, side) => ['c-' + SIDES[side % 4], `${sideName(side)} of ${name}: ${nodes.join(', ')}`]) : []),
    ...(run.lives.length ? [['c-off', 'down']] : []), ...(alone.length ? [['c-apart', 'paused or cut off']] : []),
    ...(run.arcs.length ? [['c-drop', 'executed block rolled back']] : []),
    ...Object.keys(SAID).filter(has).map((name) => ['c-' + name, SAID[name]]),
    ...(has('waiting_dead') ? [['c-waiting', 'dead timers that wait']] : []),
    ...(has('waiting_dead') && run.storm_predicted.some((value) => value > 0) ? [['c-predicted', 'predicted drain']] : []),
    ...(axis.folds.length ? [['c-fold', 'folded time: nothing is final']] : []), ['c-cursor', 'cursor, selected height'],
  ]);
  return { draw };
}
