import { isJsonObject } from '../../jsonrpc/index.ts';
import { stableText } from '../schema/fingerprint.ts';

/**
 * What tells one principal from another: its `subject` or `sub`, else all of it, so that what is bound to one is refused
 * to every other.
 */
export function principalOf(auth: unknown): string {
  if (auth === undefined) return '';
  if (typeof auth === 'string') return auth;
  if (isJsonObject(auth)) {
    const subject = auth.subject ?? auth.sub;
    if (typeof subject === 'string') return subject;
  }
  return stableText(auth);
}
