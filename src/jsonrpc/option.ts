import { isJsonObject } from './message.ts';
import { preview } from './preview.ts';

// How every floor reads what a program hands over. A check throws a TypeError that names the
// option and says what it must be and what was given; undefined stands for an option that is absent. None of this is part
// of the floor's index.

/** @throws TypeError when the value is no number above zero. `Infinity` is one. */
export function positive(option: string, value: number, unit: string): number {
  if (typeof value === 'number' && value > 0) return value;
  return misuse(option, `a positive number of ${unit}`, shown(value));
}

/** @throws TypeError when the value is no number from zero on. `Infinity` is one. */
export function notNegative(option: string, value: number): number {
  if (typeof value === 'number' && value >= 0) return value;
  return misuse(option, 'a number, 0 or more', shown(value));
}

/** A duration that a timer can take: longer ones would fire at once. @throws TypeError for any other. */
export function timerMs(option: string, value: number): number {
  if (typeof value === 'number' && value > 0 && value < 2 ** 31) return value;
  return misuse(option, 'a positive number of milliseconds below 2 ** 31', shown(value));
}

/** @throws TypeError when the value is no number from 1 on. `Infinity` is one. */
export function atLeastOne(option: string, value: number): number {
  if (typeof value === 'number' && value >= 1) return value;
  return misuse(option, 'at least 1', shown(value));
}

/** @throws TypeError when the value is no whole number from 1 on, nor `Infinity`. */
export function wholeNumber(option: string, value: number): number {
  if (value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && value >= 1)) return value;
  return misuse(option, 'a whole number of at least 1, or Infinity', shown(value));
}

/** @throws TypeError when the value is none of the choices. */
export function oneOf<Value extends string | boolean>(
  option: string,
  value: Value,
  choices: readonly Value[],
): Value {
  if (choices.includes(value)) return value;
  const listed = choices.map((choice) => JSON.stringify(choice));
  return misuse(option, `${listed.slice(0, -1).join(', ')} or ${listed.at(-1)}`, shown(value));
}

/** @throws TypeError when the value is there and no function. */
export function assertFunction(option: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') misuse(option, 'a function', kindOf(value));
}

/** @throws TypeError when the value is there and no object, or an array. */
export function assertObject(option: string, value: unknown): void {
  if (value !== undefined && !isJsonObject(value)) misuse(option, 'an object', kindOf(value));
}

/** @throws TypeError when the value is there and no array. */
export function assertArray(option: string, value: unknown): void {
  if (value !== undefined && !Array.isArray(value)) misuse(option, 'an array', kindOf(value));
}

/** As cheap as can be: every call goes through it. @throws TypeError when the value is there and cannot be listened to. */
export function assertSignal(option: string, value: AbortSignal | undefined): void {
  if (value === undefined) return;
  const isSignal = typeof value?.aborted === 'boolean' && typeof value.addEventListener === 'function';
  if (!isSignal) misuse(option, 'an AbortSignal', kindOf(value));
}

/** @throws TypeError always. */
export function misuse(option: string, wanted: string, given: string): never {
  throw new TypeError(`${option} must be ${wanted}, not ${given}`);
}

/** A value in a few words, with its text: not for what may hold a secret. */
export function shown(value: unknown): string {
  return typeof value === 'string' ? preview(value) : kindOf(value);
}

/** A value in a few words, without its text. */
export function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  if (value instanceof Promise) return 'a promise';
  switch (typeof value) {
    case 'string':
    case 'symbol':
    case 'function':
      return `a ${typeof value}`;
    case 'object':
      return value === null ? 'null' : 'an object';
    default:
      return String(value);
  }
}
