/** Why a pattern is not accepted, or nothing. */
export function patternFault(source: string): string | undefined {
  try {
    new RegExp(source, 'u');
  } catch {
    return 'no regular expression';
  }
  return undefined;
}

export function compilePattern(source: string, flags = 'u'): { test(text: string): boolean } {
  return new RegExp(source, flags);
}
