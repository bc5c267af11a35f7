/**
 * How much work one validation may be, in steps of some 0.1 microseconds: looking at one place, at 16 characters, at one
 * candidate. What takes more counts as a violation.
 */
export const MAX_VALIDATION_STEPS = 4_000_000;

/** Thrown when a validation takes more than {@link MAX_VALIDATION_STEPS}. */
export class StepsExhausted extends Error {}

/** Validation is synchronous and never nested, so that one counter serves all. */
let left = MAX_VALIDATION_STEPS;

export function resetSteps(): void {
  left = MAX_VALIDATION_STEPS;
}

/** @throws StepsExhausted when the validation at hand has used up its steps. */
export function takeSteps(count: number): void {
  left -= count;
  if (left < 0) throw new StepsExhausted();
}

/** Takes steps for looking at a text once. */
export function takeText(text: string): void {
  if (text.length >= 16) takeSteps(text.length >> 4);
}
