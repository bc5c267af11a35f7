/** How many faults in a row are told one by one. */
const TOLD_SINGLY = 32;

/** Counts faults in a row: of the first ones each is told, of the others how many there were, each time they have doubled. */
export class FaultRun {
  #length = 0;
  #untold = 0;

  get length(): number {
    return this.#length;
  }

  /** Whether the next fault will be told by itself. */
  get tellsNext(): boolean {
    return this.#length < TOLD_SINGLY;
  }

  /** Counts a fault that is told by itself. */
  told(): void {
    this.#length++;
  }

  /** Counts a fault that is not told. Returns of how many to tell now; mostly 0. */
  counted(): number {
    this.#length++;
    this.#untold++;
    const isPowerOfTwo = Number.isInteger(Math.log2(this.#length));
    return isPowerOfTwo ? this.#takeUntold() : 0;
  }

  /** Ends the run. Returns of how many is yet to tell. */
  end(): number {
    this.#length = 0;
    return this.#takeUntold();
  }

  #takeUntold(): number {
    const untold = this.#untold;
    this.#untold = 0;
    return untold;
  }
}
