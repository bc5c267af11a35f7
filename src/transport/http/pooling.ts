/** Whether connections are used again: `true`, `false`, or `auto`: they are, until the server stalls on them. */
export type PoolingMode = 'auto' | boolean;

/** A larger reply may take its time for honest reasons. */
const SMALL_REPLY_BYTES = 16 * 1024;
/** Delayed acknowledgements are sent after 40 ms on Linux and up to 200 ms elsewhere; the network adds its own. */
const SHORTEST_STALL_MS = 30;
const LONGEST_STALL_MS = 250;
/** What a stall weighs against a smooth reply: only some of the replies on one connection stall, often every other. */
const STALL_WEIGHT = 3;
/** How far stalls must outweigh smooth replies to change the way, at first. */
const FIRST_PATIENCE = 9;
/** How much more evidence is wanted after fresh connections did not help. */
const PATIENCE_GROWTH = 10;
/** What is forgiven behind the change to fresh connections: the next replies may still come over older ones. */
const GRACE = 100;

/**
 * Decides whether connections to one origin are used again. A server that writes a small reply in several pieces with
 * Nagle's algorithm on waits, on a used connection, for an acknowledgement that this side's kernel delays: every reply
 * then stalls some 40 ms behind its first byte. A fresh connection acknowledges at once and does not stall.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9293.html#name-nagle-algorithm
 */
export class Pooling {
  readonly #isAuto: boolean;
  #fresh: boolean;
  // Stalls against smooth replies since the last change.
  #balance = 0;
  #patience = FIRST_PATIENCE;

  constructor(mode: PoolingMode) {
    this.#isAuto = mode === 'auto';
    this.#fresh = mode === false;
  }

  /** Whether the next request wants a connection of its own. */
  get fresh(): boolean {
    return this.#fresh;
  }

  /** Takes note of a reply: how long it took from its first byte to its end, in milliseconds, and how large it was. */
  note(elapsedMs: number, bytes: number): void {
    if (!this.#isAuto || bytes > SMALL_REPLY_BYTES) return;
    const stalled = elapsedMs >= SHORTEST_STALL_MS && elapsedMs <= LONGEST_STALL_MS;
    this.#balance = Math.max(this.#balance + (stalled ? STALL_WEIGHT : -1), this.#fresh ? -GRACE : 0);
    if (this.#balance < (this.#fresh ? FIRST_PATIENCE : this.#patience)) return;
    // It stalls on fresh connections as well: they are not the cure, and the next suspicion needs more evidence.
    if (this.#fresh) this.#patience *= PATIENCE_GROWTH;
    this.#fresh = !this.#fresh;
    this.#balance = this.#fresh ? -GRACE : 0;
  }
}
