// What all pictures share: canvases in device pixels, colours of the scheme, pointers.
const dark = matchMedia('(prefers-color-scheme: dark)');
let colours = {};
const FONT = '11px system-ui, sans-serif';

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['bg', 'fg', 'dim', 'line', 'card', 'good', 'bad', 'g1', 'g2', 'g3', 'g4', 'g5', 'g6', 'g7', 'on', 'sel', 'dead', 'insolvent', 'fired', 'live', 'f0', 'f1', 'f2', 'f3', 'f4', 'f5', 'down', 'off', 'apart', 'side0', 'side1', 'side2', 'side3']) {
    colours[name] = style.getPropertyValue('--' + name).trim();
  }
}

function sized(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  const [w, h] = [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  // What is written anew, were it the same, makes the browser lay the page out again.
  if (canvas.style.width !== width + 'px') canvas.style.width = width + 'px';
  if (canvas.style.height !== height + 'px') canvas.style.height = height + 'px';
  const pen = canvas.getContext('2d');
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = FONT;
  pen.textBaseline = 'middle';
  return pen;
}

// What does not follow the cursor is painted once for each key, and copied from then on.
function backed(canvas, pen, kept, key, paint) {
  const [width, height] = [canvas.width, canvas.height];
  if (kept.key !== key || kept.width !== width || kept.height !== height) {
    const scale = window.devicePixelRatio || 1;
    kept.canvas = kept.canvas || document.createElement('canvas');
    paint(sized(kept.canvas, width / scale, height / scale));
    Object.assign(kept, { key, width, height });
  }
  pen.save(); pen.setTransform(1, 0, 0, 1, 0, 0); pen.drawImage(kept.canvas, 0, 0); pen.restore();
}

function faultColour(index) { return colours['f' + (index % 6)]; }

function worded(pen, text, x, y, colour, align) {
  const wide = pen.measureText(text).width + 4;
  pen.fillStyle = colours.bg; pen.fillRect(align === 'center' ? x - wide / 2 : x - 2, y - 5.5, wide, 11);
  pen.fillStyle = colour; pen.textAlign = align; pen.fillText(text, x, y); pen.textAlign = 'left';
}

// Sides of a partition: the shade and the name of each.
const SIDES = ['side0', 'side1', 'side2', 'side3'];
const sideName = (side) => 'side ' + String.fromCharCode(65 + side % 26);

// The colour of a group of roots: by agreement with the oracle.
function groupColour(group) { return 'g' + group; }

// Differences have a mark as well as a colour.
function crossed(pen, x, y, wide, high) {
  pen.strokeStyle = colours.on; pen.lineWidth = 1.5;
  pen.beginPath(); pen.moveTo(x + 1, y + 1); pen.lineTo(x + wide - 1, y + high - 1); pen.moveTo(x + wide - 1, y + 1); pen.lineTo(x + 1, y + high - 1); pen.stroke();
}

function fitted(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let length = text.length;
  while (length > 1 && pen.measureText(text.slice(0, length) + '\u2026').width > room) length--;
  return text.slice(0, length) + '\u2026';
}

// Each band gets the first row in which neither it nor its label meets another one: labels never overprint.
function packBands(pen, run, x, left, right) {
  const rows = [], bands = [];
  run.faults.forEach(([name, sentence, targets, windows], fault) => {
    let isNamed = false;
    for (const [start, stop] of windows) {
      const from = Math.max(left, x(start)), to = Math.min(right, Math.max(from + 2, x(stop)));
      if (x(stop) < left || x(start) > right) continue;
      const label = isNamed ? '' : fitted(pen, name, right - left - 12), wide = label ? pen.measureText(label).width + 8 : 0;
      const at = label && to - from < wide && from + wide > right ? Math.max(left, right - wide) : from;
      const end = Math.max(to, at + wide);
      let row = rows.findIndex((taken) => taken.every(([a, b]) => end < a || at > b));
      if (row < 0) row = rows.push([]) - 1;
      rows[row].push([at, end]);
      bands.push({ fault, from, to, left: at, row, label, sentence, targets });
      isNamed = true;
    }
  });
  return { bands, rows: rows.length };
}

// The key of a picture: a list of swatches by their classes.
function legend(list, items) {
  const seen = new Set();
  list.replaceChildren(...items.filter(([, text]) => !seen.has(text) && seen.add(text)).map(([classes, text]) => {
    const item = document.createElement('li'), swatch = document.createElement('i');
    swatch.className = classes;
    item.append(swatch, text);
    return item;
  }));
}

// A readable step for an axis: 1, 2 or 5 times a power of ten.
function step(span, room) {
  const raw = span / Math.max(1, room);
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw);
}

function place(event, element) {
  const box = element.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

function table(columns, rows) {
  const made = document.createElement('table');
  const head = made.createTHead().insertRow();
  for (const name of columns) { const cell = document.createElement('th'); cell.textContent = name; head.append(cell); }
  const body = made.createTBody();
  for (const row of rows) { const line = body.insertRow(); for (const value of row) line.insertCell().textContent = String(value); }
  return made;
}

// A table behind a picture is made when it is opened.
function tableOnDemand(root, name, make) {
  const details = root.querySelector(`[data-table="${name}"]`);
  if (!details) return;
  details.addEventListener('toggle', () => { const room = details.querySelector('div'); if (details.open && !room.firstChild) room.append(make()); });
}
