/** How many faults in a row are told one by one. */
const TOLD_SINGLY = 32;

/** Counts faults in a row: of the first ones each is told, of the others how many there were, each time they have doubled. */
export class FaultRun {
  readonly #tellMore: (count: number) => void;
  #length = 0;
  #untold = 0;

  /** @param tellMore Tells of faults that were not told one by one. */
  constructor(tellMore: (count: number) => void) {
    this.#tellMore = tellMore;
  }

  get length(): number {
    return this.#length;
  }

  /** Whether the next fault is to be told by itself. */
  get tellsNext(): boolean {
    return this.#length < TOLD_SINGLY;
  }

  /** Counts a fault. Returns whether that was all: false when it is to be told by itself. */
  count(): boolean {
    const isSingle = this.tellsNext;
    this.#length++;
    if (isSingle) return false;
    this.#untold++;
    const isPowerOfTwo = Number.isInteger(Math.log2(this.#length));
    if (isPowerOfTwo) this.#tellUntold();
    return true;
  }

  /** Ends the run, and tells what is yet to tell. */
  end(): void {
    if (this.#length === 0) return;
    this.#length = 0;
    if (this.#untold > 0) this.#tellUntold();
  }

  #tellUntold(): void {
    const untold = this.#untold;
    this.#untold = 0;
    this.#tellMore(untold);
  }
}
