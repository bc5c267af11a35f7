import fc from 'fast-check';
import { expect } from 'vitest';
import { type JsonObject, type JsonRpcMessage, Peer, RpcError } from '../../src/jsonrpc/index.ts';
import { fuzz } from './property.ts';

const answer = fc.constantFrom(
  { result: {} },
  { error: { code: 1, message: 'm' } },
  { result: null },
  { error: 'e' },
  { result: {}, error: {} },
  {},
);
const id = fc.nat(6);
const step = fc.oneof(
  fc.record({ do: fc.constant('call' as const), signal: fc.nat(2) }),
  fc.record({ do: fc.constant('answer' as const), id, body: answer }),
  fc.record({ do: fc.constant('abort' as const), signal: fc.nat(2) }),
  fc.record({ do: fc.constant('progress' as const), id }),
  fc.record({ do: fc.constant('request' as const), id }),
  fc.record({ do: fc.constant('cancel' as const), id }),
  fc.record({
    do: fc.constant('finish' as const),
    handler: id,
    way: fc.constantFrom('result', 'error', 'cycle'),
  }),
  fc.record({ do: fc.constant('garbage' as const), value: fc.jsonValue({ maxDepth: 1 }) }),
  fc.record({ do: fc.constant('turn' as const) }),
);

/** Whatever happens and in whatever order: every call settles once, no request gets two answers, closing ends all. */
fuzz({
  name: 'peer',
  inputs: fc.array(step, { maxLength: 30 }),
  async holds(steps) {
    const scene = new Scene();
    for (const next of steps) {
      if (next.do === 'turn') await turn();
      else scene.take(next);
    }
    await turn();
    expect(scene.peer.pendingCalls).toBe(scene.calls.filter(({ ends }) => ends === 0).length);
    scene.peer.close();
    scene.finishAll();
    await turn();
    expect(scene.calls.map(({ ends }) => ends)).toStrictEqual(scene.calls.map(() => 1));
    expect(scene.answersTooMany()).toStrictEqual([]);
    expect(scene.listening).toBe(0);
    expect(scene.peer.inboundRequests).toBe(0);
  },
});

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A peer, the other side that a script plays, and a count of everything that must happen once. */
class Scene {
  readonly calls: { ends: number }[] = [];
  readonly peer: Peer;
  listening = 0;
  #signals = [0, 1, 2].map(() => this.#countedSignal());
  #handlers: ((way: string) => void)[] = [];
  #asked = new Map<unknown, number>();
  #answered = new Map<unknown, number>();

  constructor() {
    this.peer = new Peer({
      name: 'script',
      send: (message) => this.#send(message),
      onRequest: () => this.#handle(),
      onAbandon: () => {},
      onError: () => {},
      maxInbound: 4,
    });
  }

  take(next: Exclude<Step, { do: 'turn' }>): void {
    switch (next.do) {
      case 'call':
        this.#call(this.#signals[next.signal]?.signal);
        return;
      case 'answer':
        this.peer.receive({ jsonrpc: '2.0', id: next.id, ...next.body });
        return;
      case 'abort':
        this.#signals[next.signal]?.abort();
        return;
      case 'progress':
        this.peer.progress(next.id, {});
        return;
      case 'request':
        this.#asked.set(next.id, (this.#asked.get(next.id) ?? 0) + 1);
        this.peer.receive({ jsonrpc: '2.0', id: next.id, method: 'm' });
        return;
      case 'cancel':
        this.peer.cancelInbound(next.id, 'r');
        return;
      case 'finish':
        this.#handlers[next.handler]?.(next.way);
        return;
      case 'garbage':
        this.peer.receive(next.value);
    }
  }

  finishAll(): void {
    for (const finish of this.#handlers) finish('result');
  }

  answersTooMany(): unknown[] {
    return [...this.#answered].filter(([id, count]) => count > (this.#asked.get(id) ?? 0));
  }

  #call(signal: AbortSignal | undefined): void {
    const call = { ends: 0 };
    this.calls.push(call);
    const settle = () => {
      call.ends++;
    };
    this.peer.call('m', undefined, signal ? { signal } : {}).then(settle, settle);
  }

  #handle(): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      this.#handlers.push((way) => {
        const cycle: JsonObject = {};
        cycle.self = cycle;
        if (way === 'error') reject(new RpcError(1, 'm', cycle));
        else resolve(way === 'cycle' ? cycle : {});
      });
    });
  }

  #send(message: JsonRpcMessage): void {
    JSON.stringify(message);
    if ('method' in message || message.id === undefined) return;
    this.#answered.set(message.id, (this.#answered.get(message.id) ?? 0) + 1);
  }

  #countedSignal(): AbortController {
    const controller = new AbortController();
    const { signal } = controller;
    const { addEventListener, removeEventListener } = signal;
    const listeners = new Set<unknown>();
    const count = () => {
      this.listening += listeners.size;
    };
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      this.listening -= listeners.size;
      listeners.add(args[1]);
      count();
      addEventListener.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      this.listening -= listeners.size;
      listeners.delete(args[1]);
      count();
      removeEventListener.apply(signal, args);
    };
    return controller;
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
