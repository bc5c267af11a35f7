import { schemaFingerprint } from '../protocol/index.ts';

/** The longest name that every model API takes. */
const MAX_NAME_CHARS = 64;
const DIGEST_CHARS = 10;
const SAFE = /^[A-Za-z0-9_-]{1,64}$/;
const UNSAFE_CHARACTER = /[^A-Za-z0-9_-]/g;

/** Whether every model API takes this name of a tool. */
export function isModelSafe(name: string): boolean {
  return SAFE.test(name);
}

/**
 * The name itself where it is safe; else one that resembles it and ends in a digest of it. It depends on nothing but the
 * name, so that a tool has it in every run, whatever else is there.
 */
export function modelSafeName(name: string): string {
  if (isModelSafe(name)) return name;
  const digest = schemaFingerprint(name).slice(0, DIGEST_CHARS);
  const readable = name.slice(0, MAX_NAME_CHARS - DIGEST_CHARS - 1).replace(UNSAFE_CHARACTER, '_');
  return `${readable}_${digest}`;
}
