/** The sets of the atoms of one pattern, each made when it is first asked for. */
export class CharacterSets {
  readonly #flags: string;
  readonly #sets = new Map<string, CharacterSet>();

  constructor(flags: string) {
    this.#flags = flags;
  }

  of(atom: string): CharacterSet {
    let set = this.#sets.get(atom);
    if (set === undefined) {
      set = new CharacterSet(atom, this.#flags);
      this.#sets.set(atom, set);
    }
    return set;
  }
}

/** Tells which characters an atom of a pattern stands for, by asking the runtime about one character at a time. */
export class CharacterSet {
  readonly #expression: RegExp;
  readonly #ascii: Uint8Array;
  /** False when only ASCII characters are in it. True may be an overstatement. */
  readonly mayBeBeyondAscii: boolean;

  constructor(atom: string, flags: string) {
    this.#expression = new RegExp(`^(?:${atom})$`, flags);
    this.#ascii = new Uint8Array(128);
    for (let code = 0; code < 128; code++) {
      if (this.#expression.test(String.fromCharCode(code))) this.#ascii[code] = 1;
    }
    // Where Unicode says what case is, two letters beyond ASCII count as ones within.
    const folds = flags.includes('i') && flags.includes('u');
    this.mayBeBeyondAscii = folds || !ONLY_ASCII.test(atom);
  }

  has(code: number): boolean {
    return code < 128 ? this.#ascii[code] === 1 : this.#expression.test(String.fromCodePoint(code));
  }
}

/** A plain character, an escape for one, or a class of such that is not negated. */
const ONLY_ASCII =
  /^(?:[ -\-/-Z\]-~]|\\[dwtnvfr^$\\.*+?()[\]{}|/-]|\[(?!\^)(?:[ -Z^-~]|\\[dwtnvfr^$\\.*+?()[\]{}|/-])*\])$/;
