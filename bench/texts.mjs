// What is sent back and forth: the same in every run.

/** A text of words, with quotes and line ends that JSON must escape, as the answers of real tools have. */
export function seededText(length, seed = 1) {
  let state = seed;
  let text = '';
  while (text.length < length) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const word = state.toString(36);
    text += state % 16 === 0 ? `"${word}"\n` : `${word} `;
  }
  return text.slice(0, length);
}

export const ECHO_SCHEMA = {
  type: 'object',
  properties: { text: { type: 'string' } },
  required: ['text'],
};
export const WORK_SCHEMA = {
  type: 'object',
  properties: { steps: { type: 'integer' } },
  required: ['steps'],
};
export const LARGE_SCHEMA = {
  type: 'object',
  properties: { chars: { type: 'integer' } },
  required: ['chars'],
};

const made = new Map();

/** The text of a large result, made before anything is timed. */
export function largeText(chars) {
  let text = made.get(chars);
  if (text === undefined) {
    text = seededText(chars);
    made.set(chars, text);
  }
  return text;
}

/** A list of tools with schemas of the usual kind. */
export function seededTools(count) {
  return Array.from({ length: count }, (_, at) => ({
    name: `tool_${at}`,
    description: seededText(120, at + 1),
    inputSchema: {
      type: 'object',
      properties: {
        [`path_${at}`]: { type: 'string', minLength: 1, description: seededText(60, at + 7) },
        limit: { type: 'integer', minimum: 0, maximum: 1000 + at },
        mode: { enum: ['fast', 'exact', `mode-${at}`] },
        tags: { type: 'array', items: { type: 'string' }, maxItems: 10 },
      },
      required: [`path_${at}`],
    },
    outputSchema: {
      type: 'object',
      properties: {
        rows: { type: 'array', items: { type: 'object', properties: { n: { type: 'number' } } } },
      },
      required: ['rows'],
    },
  }));
}
