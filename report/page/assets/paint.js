// What all pictures share: canvases in device pixels, colours of the scheme, pointers.
const dark = matchMedia('(prefers-color-scheme: dark)');
let colours = {};

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['bg', 'fg', 'dim', 'line', 'card', 'good', 'bad', 'g1', 'g2', 'g3', 'g4', 'g5', 'g6', 'g7', 'hatch', 'sel', 'dead', 'fired', 'f0', 'f1', 'f2', 'f3', 'f4', 'f5', 'down']) {
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
  pen.font = '11px system-ui, sans-serif';
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
