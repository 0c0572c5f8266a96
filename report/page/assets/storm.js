// Timers block by block, what the budget predicts over what was measured, and what blocks used and cost.
function stormPane(run, root) {
  const box = root.querySelector('[data-pane=storm]');
  if (!box || !run.storm_height) return { draw() {} };
  const times = Array.from(run.storm_time_ms, (each) => each / 1000);
  const STACK = [['fired', 'fired'], ['expired', 'dead'], ['insolvent', 'insolvent'], ['cancelled', 'g4']];
  // Counts and prices are whole numbers, and so are the figures at an axis.
  const WHOLE = Array.from({ length: 16 }, (_, power) => [1, 2, 2.5, 5].map((each) => each * 10 ** power)).flat().filter(Number.isInteger);
  // The folds of the first picture are folded here too.
  const flat = times.map((each) => run.axis.flat(each * 1e6));
  const said = (u, x) => { const t = run.axis.ticks(u.width / 110).find((each) => run.axis.flat(each) === x); return t === undefined ? '' : shortTime(t); };
  let plots = [], scheme = null;
  const waits = run.waits.map((_, i) => Array.from(run['wait_' + i], (value) => value < 0 ? null : value));

  function stacked() {
    const sums = new Float64Array(times.length);
    return STACK.map(([name]) => Array.from(run['storm_' + name], (value, i) => (sums[i] += value)));
  }

  const bars = (size) => uPlot.paths.bars({ size: [0.9, size], align: 0 });
  const steps = uPlot.paths.stepped({ align: 1 });
  const plain = (u, value) => value === null || value === undefined ? '' : value.toLocaleString('en');

  // Faults at work together share the height: colours over each other would be those of no fault.
  function bandsOf(u) {
    const pen = u.ctx, rows = [], bands = [];
    run.faults.forEach(([, , , windows], fault) => {
      for (const [start, stop] of windows) {
        const from = u.valToPos(run.axis.flat(start), 'x', true), to = Math.max(from + 2, u.valToPos(run.axis.flat(stop), 'x', true));
        const [left, right] = [Math.max(u.bbox.left, from), Math.min(u.bbox.left + u.bbox.width, to)];
        if (right <= left) continue;
        let row = rows.findIndex((taken) => taken.every(([a, b]) => right <= a || left >= b));
        if (row < 0) row = rows.push([]) - 1;
        rows[row].push([left, right]);
        bands.push([fault, left, right, row]);
      }
    });
    pen.globalAlpha = .14;
    for (const [fault, left, right, row] of bands) {
      const high = u.bbox.height / rows.length;
      pen.fillStyle = faultColour(fault); pen.fillRect(left, u.bbox.top + row * high, right - left, high);
    }
    pen.globalAlpha = 1;
    const scale = window.devicePixelRatio || 1;
    pen.save();
    pen.fillStyle = pen.strokeStyle = colours.fg; pen.textAlign = 'center'; pen.textBaseline = 'bottom'; pen.font = `${11 * scale}px system-ui, sans-serif`; pen.setLineDash([2 * scale, 3 * scale]);
    for (const [since, until] of run.axis.folds) {
      const [from, to] = [since, until].map((t) => u.valToPos(run.axis.flat(t), 'x', true));
      for (const x of [from, to]) { pen.beginPath(); pen.moveTo(x, u.bbox.top); pen.lineTo(x, u.bbox.top + u.bbox.height); pen.stroke(); }
      pen.fillText(shortTime(until - since), (from + to) / 2, u.bbox.top - 1);
    }
    pen.restore();
  }

  function plot(title, series, data, height, scales) {
    const axis = (scale, side) => ({ scale, side, stroke: colours.dim, grid: { stroke: colours.line, show: side !== 1 }, ticks: { stroke: colours.line }, size: 62, incrs: WHOLE, values: (u, values) => values.map((value) => value.toLocaleString('en')) });
    const made = new uPlot({
      title, width: Math.max(200, box.clientWidth), height, padding: [null, Object.keys(scales).length > 1 ? 8 : 70, null, null], scales: { x: { time: false }, ...scales },
      cursor: { y: false, drag: { x: true, y: false }, sync: { key: 'stampede' + run.index } },
      axes: [{ stroke: colours.dim, grid: { stroke: colours.line }, ticks: { stroke: colours.line }, splits: (u, i, low, high) => run.axis.ticks(u.width / 110).map((t) => run.axis.flat(t)).filter((x) => x >= low && x <= high), values: (u, values) => values.map((x) => said(u, x)) }, ...Object.keys(scales).map((scale, i) => axis(scale, i ? 1 : 3))],
      series: [{ label: 'virtual time', value: (u, value, s, i) => i === null || i === undefined ? '' : times[i] + ' s' }, ...series.map((each) => ({ value: plain, points: { show: false }, ...each }))],
      hooks: {
        drawClear: [bandsOf],
        setCursor: [(u) => { if (u.cursor.idx !== null && u.cursor.idx !== undefined && u.cursor.left >= 0 && u.over.matches(':hover')) change({ t: Math.round(times[u.cursor.idx] * 1e6) }); }],
      },
    }, [flat, ...data], box);
    made.over.addEventListener('click', () => { if (made.cursor.idx !== null && made.cursor.idx !== undefined) selectHeight(run, run.storm_height[made.cursor.idx]); });
    return made;
  }

  function make() {
    plots.forEach((each) => each.destroy());
    const sums = stacked();
    const piles = STACK.map(([name, colour], i) => ({ label: name, scale: 'timers', stroke: colours[colour], fill: colours[colour], paths: bars(30), value: (u, value, s, idx) => idx === null || idx === undefined ? '' : plain(u, run['storm_' + name][idx]), pile: sums[i] })).reverse();
    const predicted = Array.from(run.storm_predicted, (value) => value < 0 ? null : value), isPredicted = predicted.some((value) => value !== null);
    const live = Array.from(run.storm_waiting_live), dead = Array.from(run.storm_waiting_dead);
    plots = [plot('timers that leave in each block (left), timers that wait after it (right)', [
      ...piles.map(({ pile, ...each }) => each),
      { label: 'dead waiting', scale: 'waiting', stroke: colours.fg, width: 2, paths: steps },
      { label: 'live waiting', scale: 'waiting', stroke: colours.live, width: 1.5, paths: steps },
      ...(isPredicted ? [{ label: 'predicted', scale: 'waiting', stroke: colours.sel, width: 2, dash: [6, 4], paths: steps }] : []),
    ], [...piles.map((each) => each.pile), dead, live, ...(isPredicted ? [predicted] : [])], 260, { timers: { range: (u, low, high) => [0, Math.max(1, high) * 1.05] }, waiting: { range: (u, low, high) => [0, Math.max(1, high) * 1.05] } })];
    const share = (name, budget) => Array.from(run['storm_' + name], (value) => budget ? 100 * value / budget : 0);
    plots.push(plot('use of the budgets in per cent (left), prices in units a cycle or cell (right); a thinner line on a wider one: equal', [
      { label: 'timer lane, %', scale: 'per cent', stroke: colours.fired, width: 4, paths: steps }, { label: 'clean-up budget, %', scale: 'per cent', stroke: colours.dead, width: 1.5, paths: steps },
      { label: 'cycle basefee', scale: 'units', stroke: colours.f3, width: 7, paths: steps }, { label: 'cell basefee', scale: 'units', stroke: colours.f0, width: 3.5, paths: steps }, { label: 'lane price', scale: 'units', stroke: colours.fg, width: 1.5, dash: [5, 5], paths: steps },
    ], [share('lane_cycles', run.budgets.lane), share('gc_cycles', run.budgets.gc), Array.from(run.storm_cycle_basefee), Array.from(run.storm_cell_basefee), Array.from(run.storm_lane_price)], 190, { 'per cent': { range: [0, 105] }, units: {} }));
    if (run.waits.length) {
      const shades = ['f3', 'f0', 'fired', 'g4', 'dead', 'g5', 'f4', 'g7'];
      plots.push(plot(`oldest wait of live timers after their time, in ${run.waitUnit}, by class of tip`, run.waits.map((name, i) => (
        { label: name, scale: run.waitUnit, stroke: colours[shades[i % shades.length]], width: 1.5, paths: steps }
      )), waits, 150, { [run.waitUnit]: { range: (u, low, high) => [0, Math.max(1, high) * 1.05] } }));
    }
    scheme = colours.bg;
  }

  function draw() {
    if (scheme !== colours.bg) make();
    for (const each of plots) {
      if (each.width !== box.clientWidth && box.clientWidth > 0) each.setSize({ width: box.clientWidth, height: each.height });
      if (state.t !== null && !each.over.matches(':hover')) {
        const left = each.valToPos(run.axis.flat(state.t), 'x');
        if (Math.abs(left - each.cursor.left) > 1) each.setCursor({ left, top: 10 }, false);
      }
    }
    box.dataset.cursor = String(state.t);
  }

  tableOnDemand(root, 'storm', () => {
    const names = ['fired', 'expired', 'insolvent', 'cancelled', 'deferred', 'waiting_live', 'waiting_dead', 'predicted', 'lane_cycles', 'gc_cycles', 'cycle_basefee', 'cell_basefee', 'lane_price'];
    return table(['height', 'time, s', ...names.map((name) => name.replaceAll('_', ' ')), ...run.waits.map((name) => 'oldest wait, ' + name)], Array.from(run.storm_height, (height, i) => [height, times[i], ...names.map((name) => name === 'predicted' && run.storm_predicted[i] < 0 ? '' : run['storm_' + name][i]), ...waits.map((each) => each[i] ?? '')]));
  });
  return { draw };
}
