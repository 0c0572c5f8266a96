// The plots of a study: a line of means for each series, with the 95 % intervals as bars and bands.
const SHADES = ['f3', 'f1', 'f4', 'g3', 'f0', 'g4', 'f5', 'g7'];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
const LETTER = 6.5, LABEL_MAX = 20;

// Three series of uPlot for each line: the mean, which the legend names, and the two ends of its interval.
const isMean = (index) => index % 3 === 1;

function studyPlot(data, at, box) {
  const { scale, xName, x: labels, names, texts } = data.plots[at];
  const x = Array.from(data['x_' + at]);
  const values = (kind, i) => Array.from(data[`${kind}_${at}_${i}`], (value) => Number.isNaN(value) ? null : value);
  if (!names.some((name, i) => values('mean', i).some((mean) => mean !== null))) { box.textContent = 'No arm has a value.'; return []; }
  const shown = labels.map((text) => text.length > LABEL_MAX ? text.slice(0, LABEL_MAX - 1) + '\u2026' : text);
  const longest = LETTER * Math.max(1, ...shown.map((text) => text.length));
  // The names of all kinds stand at the axis: turned, where they would meet each other.
  const isTurned = (u) => scale === 'ordinal' && longest + 8 > (u.width - 90) / Math.max(1, x.length);
  const ends = () => {
    const [first, last] = x.length ? [x[0], x[x.length - 1]] : [0, 1];
    if (scale === 'log') { const by = (last / first) ** .04; return [first / by, last * by]; }
    const by = (last - first) * .04 || .5;
    return [first - by, last + by];
  };

  // A label that would overprint the one before is left out; the legend still tells it.
  function ticks(u) {
    let end = -Infinity;
    return x.map((value, i) => {
      const middle = u.valToPos(value, 'x'), half = isTurned(u) ? 7 : LETTER / 2 * shown[i].length + 4;
      if (middle - half < end) return '';
      end = middle + half;
      return shown[i];
    });
  }

  function bars(u, index) {
    if (!isMean(index)) return;
    const pen = u.ctx, wide = 4 * (window.devicePixelRatio || 1), [low, high] = [u.data[index + 1], u.data[index + 2]];
    pen.save();
    pen.strokeStyle = colours[SHADES[Math.floor(index / 3) % SHADES.length]]; pen.lineWidth = 1.5 * (window.devicePixelRatio || 1);
    pen.beginPath();
    x.forEach((value, i) => {
      if (low[i] === null) return;
      const [middle, bottom, top] = [u.valToPos(value, 'x', true), u.valToPos(low[i], 'y', true), u.valToPos(high[i], 'y', true)];
      pen.moveTo(middle, bottom); pen.lineTo(middle, top);
      for (const y of [bottom, top]) { pen.moveTo(middle - wide, y); pen.lineTo(middle + wide, y); }
    });
    pen.stroke();
    pen.restore();
  }

  const series = [{ label: xName, value: (u, value, s, i) => labels[i] ?? '' }], columns = [x], bands = [];
  names.forEach((name, i) => {
    const colour = colours[SHADES[i % SHADES.length]], end = { class: 'gone', points: { show: false }, stroke: 'transparent' };
    if (scale !== 'ordinal') bands.push({ series: [series.length + 2, series.length + 1], fill: colour + '26' });
    series.push({ label: name, stroke: colour, width: 2, dash: DASHES[Math.floor(i / SHADES.length) % DASHES.length], points: { show: true, size: 7, fill: colour }, value: (u, value, s, place) => texts[i][place] ?? '' }, { label: name + ', low', ...end }, { label: name + ', high', ...end });
    columns.push(values('mean', i), values('low', i), values('high', i));
  });
  const line = { stroke: colours.dim, grid: { stroke: colours.line }, ticks: { stroke: colours.line } };
  return [new uPlot({
    width: Math.max(200, box.clientWidth), height: 300, padding: [12, 16, null, null],
    scales: { x: { time: false, distr: scale === 'log' ? 3 : 1, range: ends } },
    cursor: { y: false, drag: { x: false, y: false } },
    axes: [
      { ...line, label: xName, labelSize: 20, size: (u) => isTurned(u) ? 24 + longest * .87 : 34, rotate: (u) => isTurned(u) ? 60 : 0, splits: () => x, filter: (u, splits) => splits, values: ticks },
      { ...line, size: (u, found) => 20 + LETTER * Math.max(3, ...(found || []).map((text) => text.length)), values: (u, found) => found.map((value) => value.toLocaleString('en', { maximumSignificantDigits: 8 })) },
    ],
    series, bands,
    hooks: {
      drawSeries: [bars],
      // The ends of an interval go and come with its mean.
      setSeries: [(u, index, { show }) => { if (isMean(index) && show !== undefined) for (const each of [1, 2]) u.setSeries(index + each, { show }); }],
    },
  }, columns, box)];
}

async function begin() {
  document.documentElement.classList.add('js');
  const data = await unpack(document.getElementById('data-0').textContent);
  const boxes = [...document.querySelectorAll('[data-plot]')];
  let plots = [];
  const make = () => {
    readColours();
    plots.forEach((each) => each.destroy());
    plots = boxes.flatMap((box) => studyPlot(data, Number(box.dataset.plot), box));
  };
  make();
  dark.addEventListener('change', make);
  // Paper is light; the class comes before the browser asks what to print, the medium may come after.
  const paint = (isPaper) => { document.documentElement.classList.toggle('printing', isPaper); make(); };
  addEventListener('beforeprint', () => paint(true));
  addEventListener('afterprint', () => paint(false));
  matchMedia('print').addEventListener('change', (event) => paint(event.matches));
  new ResizeObserver(() => plots.forEach((each) => {
    const width = each.root.parentElement.clientWidth;
    if (width > 0 && each.width !== width) each.setSize({ width, height: each.height });
  })).observe(document.body);
  requestAnimationFrame(() => { document.documentElement.dataset.ready = 'yes'; });
}

begin();
