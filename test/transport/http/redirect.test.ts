import { describe, expect, it } from 'vitest';
import { isRedirect, MAX_REDIRECTS, redirectTarget } from '../../../src/transport/http/redirect.ts';

const from = 'https://a.example/mcp?x=1';
const redirect = (location: string, more = {}) => ({
  status: 307,
  method: 'POST',
  from,
  location,
  count: 0,
  ...more,
});

describe('redirectTarget', () => {
  it.each([
    ['/other', 'https://a.example/other'],
    ['other?y=2', 'https://a.example/other?y=2'],
    ['https://a.example:443/z', 'https://a.example/z'],
  ])('follows %s at the same origin', (location, target) => {
    expect(String(redirectTarget(redirect(location), 'same-origin'))).toBe(target);
    expect(String(redirectTarget(redirect(location, { status: 308 }), 'follow'))).toBe(target);
  });

  it('follows to another origin only where it is told to', () => {
    expect(redirectTarget(redirect('https://b.example/'), 'same-origin')).toMatch(/another origin/);
    expect(redirectTarget(redirect('https://a.example:444/'), 'same-origin')).toMatch(/another origin/);
    expect(String(redirectTarget(redirect('https://b.example/'), 'follow'))).toBe('https://b.example/');
  });

  it('never follows from https to http', () => {
    expect(redirectTarget(redirect('http://a.example/'), 'follow')).toMatch(/not encrypted/);
    expect(
      String(redirectTarget(redirect('https://b.example/', { from: 'http://a.example/' }), 'follow')),
    ).toBe('https://b.example/');
  });

  it.each([301, 302, 303])('does not let status %i turn a POST into a GET', (status) => {
    expect(redirectTarget(redirect('/x', { status }), 'follow')).toMatch(/GET/);
    expect(redirectTarget(redirect('/x', { status, method: 'GET' }), 'follow')).toBeInstanceOf(URL);
  });

  it.each(['javascript:alert(1)', 'file:///etc/passwd', 'http://'])('does not follow %s', (location) => {
    expect(redirectTarget(redirect(location), 'follow')).toMatch(/no (HTTP )?address/);
  });

  it('follows a few times and not more', () => {
    expect(redirectTarget(redirect('/x', { count: MAX_REDIRECTS - 1 }), 'follow')).toBeInstanceOf(URL);
    expect(redirectTarget(redirect('/x', { count: MAX_REDIRECTS }), 'follow')).toMatch(/redirects before/);
  });

  it('follows nothing where redirects are refused', () => {
    expect(redirectTarget(redirect('/x'), 'error')).toMatch(/refused/);
  });
});

describe('isRedirect', () => {
  it('knows the five statuses that lead elsewhere', () => {
    const statuses = Array.from({ length: 100 }, (_, n) => 300 + n).filter(isRedirect);
    expect(statuses).toEqual([301, 302, 303, 307, 308]);
  });
});
