// A series of points as a small picture, both axes from zero.
const WIDTH = 480;
const HEIGHT = 240;
const LEFT = 64;
const BOTTOM = 40;
const TOP = 12;
const RIGHT = 16;

export function svg({ title, of, measured, points }) {
  const maxX = Math.max(...points.map(([x]) => x));
  const maxY = Math.max(...points.map(([, y]) => y));
  const at = ([x, y]) => [
    LEFT + (x / maxX) * (WIDTH - LEFT - RIGHT),
    HEIGHT - BOTTOM - (y / maxY) * (HEIGHT - BOTTOM - TOP),
  ];
  const places = points.map(at);
  const line = places.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ');
  const dots = places.map(([x, y]) => `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="3"/>`).join('');
  const base = HEIGHT - BOTTOM;
  const ticks = points.map(([x], index) => tick(places[index][0], base + 16, 'middle', x)).join('');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="11" fill="#57606a">
<title>${title}</title>
<path d="M${LEFT} ${TOP}V${base}H${WIDTH - RIGHT}" fill="none" stroke="#8c959f"/>
<polyline points="${line}" fill="none" stroke="#0969da" stroke-width="2"/>
<g fill="#0969da">${dots}</g>
${ticks}
${tick(LEFT - 6, TOP + 8, 'end', `${maxY.toLocaleString('en', { maximumSignificantDigits: 3 })} ${measured}`)}
${tick((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, 'middle', of)}
</svg>
`;
}

function tick(x, y, anchor, text) {
  return `<text x="${x.toFixed(1)}" y="${y}" text-anchor="${anchor}">${text}</text>`;
}
