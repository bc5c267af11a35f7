import { kindOf, misuse, shown } from '../../jsonrpc/option.ts';
import type { RevisionTraits } from '../revisions.ts';

/**
 * What was registered of one kind, in the order of registration. Its list in the words of a revision is made once and
 * kept until the next change.
 */
export class Shelf<Definition, Entry extends { readonly definition: Definition }> {
  readonly #what: string;
  readonly #keyName: string;
  readonly #shape: (definition: Definition, traits: RevisionTraits) => Definition;
  readonly #changed: () => void;
  readonly #entries = new Map<string, Entry>();
  readonly #lists = new Map<RevisionTraits, readonly Definition[]>();

  constructor(
    what: string,
    keyName: string,
    shape: (definition: Definition, traits: RevisionTraits) => Definition,
    changed: () => void,
  ) {
    this.#what = what;
    this.#keyName = keyName;
    this.#shape = shape;
    this.#changed = changed;
  }

  /**
   * Returns what takes the entry away again.
   *
   * @param handler What the entry calls.
   * @throws TypeError when the key is taken, or the handler is no function.
   */
  add(key: string, entry: Entry, handler: unknown): () => void {
    if (typeof key !== 'string' || key === '') {
      misuse(`${this.#keyName} of a ${this.#what}`, 'a string that is not empty', shown(key));
    }
    if (typeof handler !== 'function') {
      throw new TypeError(
        `Cannot register ${this.#what} "${key}": its handler must be a function, not ${kindOf(handler)}`,
      );
    }
    if (this.#entries.has(key)) {
      throw new TypeError(
        `Cannot register ${this.#what} "${key}": there is one of that ${this.#keyName}; remove it first`,
      );
    }
    this.#entries.set(key, entry);
    this.#touch();
    return () => {
      if (this.#entries.get(key) !== entry) return;
      this.#entries.delete(key);
      this.#touch();
    };
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  entries(): Iterable<Entry> {
    return this.#entries.values();
  }

  list(traits: RevisionTraits): readonly Definition[] {
    let list = this.#lists.get(traits);
    if (!list) {
      list = Array.from(this.#entries.values(), (entry) => this.#shape(entry.definition, traits));
      this.#lists.set(traits, list);
    }
    return list;
  }

  #touch(): void {
    this.#lists.clear();
    this.#changed();
  }
}
