/** Which redirects are followed. */
export type RedirectMode = 'same-origin' | 'error' | 'follow';

/** How many redirects one request may take. */
export const MAX_REDIRECTS = 5;

export interface Redirect {
  status: number;
  method: string;
  /** The address that answered. */
  from: string;
  /** The Location header. */
  location: string;
  /** How many redirects this request took before. */
  count: number;
}

/** Tells whether a status asks for the same request at another address. */
export function isRedirect(status: number): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}

/**
 * Where a redirect leads, or the reason why it is not followed. A POST is repeated as a POST or not at all, and never
 * from https to http.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110.html#name-redirection-3xx
 */
export function redirectTarget(redirect: Redirect, mode: RedirectMode): URL | string {
  const { status, method, from, location, count } = redirect;
  if (mode === 'error') return 'redirects are refused';
  if (!URL.canParse(location, from)) return 'that is no address';
  const source = new URL(from);
  const target = new URL(location, from);
  if (target.protocol !== 'http:' && target.protocol !== 'https:') return 'that is no HTTP address';
  if (method !== 'GET' && status < 307) return `status ${status} would turn the ${method} into a GET`;
  if (source.protocol === 'https:' && target.protocol === 'http:') return 'that address is not encrypted';
  if (mode === 'same-origin' && target.origin !== source.origin) {
    return "another origin is not followed; connect to it directly, or set redirect to 'follow'";
  }
  if (count >= MAX_REDIRECTS) return `there were ${MAX_REDIRECTS} redirects before`;
  return target;
}
