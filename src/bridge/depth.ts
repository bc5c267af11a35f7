/** How deep structured content may nest and still be shown as text, or travel beside it. */
export const MAX_STRUCTURED_DEPTH = 512;

/** Whether a JSON value nests deeper than so many levels. What nests too deeply could be parsed, but not written again. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((member) => isDeeper(member, levels - 1));
}
