import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as protocol from '../../src/protocol/index.ts';

const page = readFileSync(new URL('../../docs/schemas.md', import.meta.url), 'utf8');

it('the page on schemas says every bound as it is', () => {
  const bounds = Object.entries(protocol).filter(([name]) =>
    /^MAX_.*(SCHEMA|VALIDATION|PATTERN|TEMPLATE|URI)/.test(name),
  );
  expect(bounds.length).toBeGreaterThan(9);
  for (const [name, bound] of bounds)
    expect(page).toMatch(new RegExp(`\\b${String(bound)}\\b[^|.]{0,40}\`${name}\``));
});

it('its examples of URI templates are true', () => {
  const rows = [...page.matchAll(/^\| `([^`]+)` \| `([^`]+)` \| `/gm)];
  expect(rows.length).toBe(5);
  for (const [, template = '', uri = ''] of rows)
    expect(protocol.parseUriTemplate(template).match(uri), uri).toBeDefined();
});
