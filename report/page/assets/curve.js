// The share of continuations that fail alike, under the time axis of the course of the run: a strip for each mode.
function curvePane(run, root) {
  const box = root.querySelector('[data-pane=curve]');
  const canvas = box.querySelector('canvas');
  const readout = root.querySelector('[data-readout]');
  const axis = run.axis, kept = {}, { strips, moments } = run.curve;
  const HEAD = 18, DEEP = 72, STRIP = HEAD + DEEP + 12, MILLION = 1e6;
  let wide = 0, pointed = null;
  const bottom = (i) => i * STRIP + HEAD + DEEP;
  const Y = (i, share) => bottom(i) - DEEP * share / MILLION;

  // The course of the run is drawn before, and places the axis that both share.
  function draw() {
    wide = box.clientWidth;
    const pen = sized(canvas, wide, STRIP * strips.length);
    backed(canvas, pen, kept, [wide, axis.each, state.w, colours.bg].join(), still);
    if (state.t !== null && state.t <= run.end) {
      pen.strokeStyle = colours.sel; pen.lineWidth = 1;
      pen.beginPath(); pen.moveTo(axis.x(state.t), 0); pen.lineTo(axis.x(state.t), canvas.height); pen.stroke();
    }
    if (pointed) dot(pen, pointed.strip, pointed.point, 6, colours.sel);
    canvas.dataset.cursor = String(state.t);
    if (pointed) readout.textContent = pointed.point[4];
  }

  function still(pen) { strips.forEach(([title, rise, points], i) => strip(pen, i, title, rise, points)); }

  function strip(pen, i, title, rise, points) {
    pen.fillStyle = colours.card; pen.fillRect(axis.left, Y(i, MILLION), wide - axis.left - 8, DEEP);
    pen.strokeStyle = colours.line; pen.lineWidth = 1;
    for (const t of axis.ticks(wide / 100)) { pen.beginPath(); pen.moveTo(axis.x(t), Y(i, MILLION)); pen.lineTo(axis.x(t), bottom(i)); pen.stroke(); }
    pen.fillStyle = colours.dim; pen.textAlign = 'right';
    for (const share of [0, 50, 100]) {
      const y = Y(i, share * 1e4);
      pen.fillText(share + ' %', axis.left - 5, y + (share ? share < 100 ? 0 : 3 : -3));
      pen.beginPath(); pen.moveTo(axis.left, y); pen.lineTo(wide - 8, y); pen.stroke();
    }
    pen.textAlign = 'left';
    if (state.w) {
      const [from, to] = state.w.map((t) => axis.x(t));
      pen.fillStyle = colours.fg; pen.globalAlpha = .1; pen.fillRect(from, Y(i, MILLION), Math.max(3, to - from), DEEP); pen.globalAlpha = 1;
    }
    band(pen, i, points);
    line(pen, i, points);
    for (const point of points) dot(pen, i, point, 3.5, colours.bad);
    worded(pen, fitted(pen, 'continuations that fail alike: ' + title, wide - axis.left - 12), axis.left, i * STRIP + HEAD / 2, colours.dim, 'left');
    mark(pen, i, rise);
    for (const [at] of i ? [] : moments) {
      pen.fillStyle = colours.sel;
      pen.beginPath(); pen.moveTo(axis.x(at), bottom(i) - 9); pen.lineTo(axis.x(at) - 5, bottom(i)); pen.lineTo(axis.x(at) + 5, bottom(i)); pen.fill();
    }
  }

  // Where the true share of each point lies, 95 of 100 times.
  function band(pen, i, points) {
    pen.beginPath();
    for (const [at, , low] of points) pen.lineTo(axis.x(at), Y(i, low));
    for (const [at, , , high] of [...points].reverse()) pen.lineTo(axis.x(at), Y(i, high));
    pen.closePath();
    pen.fillStyle = colours.bad; pen.globalAlpha = .2; pen.fill(); pen.globalAlpha = 1;
  }

  function line(pen, i, points) {
    pen.beginPath();
    for (const [at, share] of points) pen.lineTo(axis.x(at), Y(i, share));
    pen.strokeStyle = colours.bad; pen.lineWidth = 2; pen.stroke();
  }

  function dot(pen, i, [at, share], size, colour) {
    pen.fillStyle = colour;
    pen.beginPath(); pen.arc(axis.x(at), Y(i, share), size, 0, 7); pen.fill();
  }

  function mark(pen, i, [turn, at]) {
    const x = axis.x(at), text = `the rise: turn ${turn.toLocaleString('en')}, ${(at / 1e6).toFixed(3)} s`;
    pen.strokeStyle = colours.fg; pen.lineWidth = 1.5; pen.setLineDash([4, 3]);
    pen.beginPath(); pen.moveTo(x, Y(i, MILLION) - 4); pen.lineTo(x, bottom(i) + 4); pen.stroke(); pen.setLineDash([]);
    // On the side that has room, where the curve is still low or already high.
    const isLeft = x - pen.measureText(text).width - 12 > axis.left;
    pen.fillStyle = colours.fg; pen.textAlign = isLeft ? 'right' : 'left';
    pen.fillText(text, x + (isLeft ? -8 : 8), isLeft ? Y(i, 750_000) : Y(i, 250_000));
    pen.textAlign = 'left';
  }

  function nearest(event) {
    const [px, py] = place(event, canvas), strip = Math.min(strips.length - 1, Math.max(0, Math.floor(py / STRIP)));
    const far = (point) => Math.hypot(axis.x(point[0]) - px, Y(strip, point[1]) - py);
    const point = strips[strip][2].reduce((a, b) => (far(b) < far(a) ? b : a));
    return far(point) < 40 ? { strip, point } : null;
  }

  canvas.addEventListener('pointermove', (event) => {
    pointed = nearest(event);
    const [px, py] = place(event, canvas), moment = moments.find(([at]) => Math.abs(axis.x(at) - px) < 6 && py > bottom(0) - 12 && py < bottom(0) + 3);
    canvas.title = moment ? moment[1] : pointed ? pointed.point[4] : '';
    change({ t: Math.round(axis.time(px)) });
  });
  canvas.addEventListener('pointerleave', () => { pointed = null; announce(); });
  canvas.addEventListener('click', (event) => {
    const found = nearest(event);
    if (found) change({ t: found.point[0], e: null }, true);
  });
  return { draw };
}
