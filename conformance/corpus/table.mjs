// @ts-check

/** @import { Entry, Outcome } from './check.mjs' */

const HEAD = `# Compatibility

Servers from npm that nobody here wrote, each imported over stdio with \`dialect: 'auto'\`. "Connected" is the time from
the start of the process to the end of the negotiation, "closed" the time until it and all it had started were gone; both
were taken once, on a busy machine. This page is written by \`npm run corpus\`.
`;

/**
 * The page that shows how all servers did, as far as they were tried.
 *
 * @param {readonly Entry[]} entries
 * @param {ReadonlyMap<string, Outcome>} outcomes
 */
export function renderPage(entries, outcomes) {
  const tried = entries.flatMap((entry) => {
    const outcome = outcomes.get(entry.name);
    return outcome ? [{ entry, outcome }] : [];
  });
  const good = tried.filter(({ outcome }) => outcome.faults.length === 0).length;
  const untried = entries.filter(({ name }) => !outcomes.has(name)).map(({ name }) => name);
  const lines = [
    HEAD,
    `${good} of ${tried.length} servers were imported as expected, ended cleanly and left no process behind.`,
    ...(untried.length > 0 ? [`Not tried: ${untried.join(', ')}.`] : []),
    '',
    '| server | made with | dialect, revision | tools | connected | closed | remarks |',
    '|---|---|---|---:|---:|---:|---|',
    ...tried.map(({ entry, outcome }) => renderRow(entry, outcome)),
  ];
  return `${lines.join('\n')}\n`;
}

/**
 * @param {Entry} entry
 * @param {Outcome} outcome
 */
function renderRow(entry, { seen, tools, connectMs, closeMs, faults, warnings = [] }) {
  const remarks = [
    ...faults.map((fault) => `**${fault}**`),
    ...entry.oddities,
    ...(warnings.length === 1 ? [`warning: ${warnings[0]}`] : []),
    ...(warnings.length > 1 ? [`${warnings.length} warnings, the first: ${warnings[0]}`] : []),
  ];
  const cells = [
    `${entry.package} ${entry.version}`,
    entry.sdk,
    seen ?? '—',
    tools ?? '—',
    milliseconds(connectMs),
    milliseconds(closeMs),
    remarks.map(cell).join('; '),
  ];
  return `| ${cells.join(' | ')} |`;
}

/** @param {number | undefined} value */
function milliseconds(value) {
  return value === undefined ? '—' : `${Math.round(value)} ms`;
}

/** @param {string} text */
function cell(text) {
  return text.replace(/\s+/g, ' ').replaceAll('|', '\\|').slice(0, 300);
}
