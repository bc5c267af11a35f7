import type { ToolOutput, ToolPart } from './tool.ts';

/**
 * Keeps of an output what its first `maxChars` characters hold, text and Base64 counted together, and says at the end
 * what is missing. A text may be cut, an image or audio is kept whole or not at all. What was cut is no JSON any more.
 */
export function capOutput(output: ToolOutput, maxChars: number): ToolOutput {
  const { content } = output;
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  const total = parts.reduce((sum, part) => sum + charsOf(part), 0);
  if (total <= maxChars) return output;
  const kept: ToolPart[] = [];
  let left = maxChars;
  for (const part of parts) {
    const chars = charsOf(part);
    if (chars > left) {
      const text = part.type === 'text' ? cutText(part.text, left) : '';
      if (text !== '') kept.push({ type: 'text', text });
      left -= text.length;
      break;
    }
    kept.push(part);
    left -= chars;
  }
  const note = `[cut: ${maxChars - left} of ${total} characters kept]`;
  const capped =
    typeof content === 'string' ? joined(kept, note) : [...kept, { type: 'text' as const, text: note }];
  return output.isError ? { ...output, content: capped } : { content: capped };
}

function charsOf(part: ToolPart): number {
  return part.type === 'text' ? part.text.length : part.data.length;
}

/** Never between the two halves of a character. */
function cutText(text: string, chars: number): string {
  const last = text.charCodeAt(chars - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? chars - 1 : chars);
}

function joined(kept: readonly ToolPart[], note: string): string {
  const [only] = kept;
  return only?.type === 'text' ? `${only.text}\n${note}` : note;
}
