import { expect, it } from 'vitest';
import { TimeoutError } from '../../src/jsonrpc/index.ts';
import { Dial } from '../../src/transport/dial.ts';
import { createLinkedPair, type Transport } from '../../src/transport/index.ts';
import { RecordingSink } from './recording-sink.ts';

/** A dial that connects only when told to, and gives up when told to. */
function pending(ms = 60_000) {
  let connect = (_: Transport) => {};
  let signal: AbortSignal | undefined;
  const dial = new Dial({
    name: 'far away',
    timeout: { option: 'connectTimeoutMs', ms },
    open: (given) => {
      signal = given;
      return new Promise((resolve, reject) => {
        connect = resolve;
        given.addEventListener('abort', () => reject(given.reason));
      });
    },
  });
  return { dial, connect: (transport: Transport) => connect(transport), aborted: () => signal?.aborted };
}

it('gives up after its time, in words that name the option', async () => {
  const { dial, aborted } = pending(1);
  const starting = dial.start(new RecordingSink());
  await expect(starting).rejects.toThrow(TimeoutError);
  await expect(starting).rejects.toThrow(
    'Cannot connect to "far away" within 1 ms; raise connectTimeoutMs for a slower server',
  );
  expect(aborted()).toBe(true);
});

it('gives up when it is closed meanwhile, and its sink hears nothing', async () => {
  const { dial, aborted } = pending();
  const sink = new RecordingSink();
  const starting = dial.start(sink);
  const closing = dial.close();
  await expect(starting).rejects.toMatchObject({ code: 'CLOSED' });
  await closing;
  expect(aborted()).toBe(true);
  expect(sink.closes).toEqual([]);
});

it('closes a channel that was made at the moment of closing', async () => {
  const { dial, connect } = pending();
  const [ours, theirs] = createLinkedPair();
  const far = new RecordingSink();
  await theirs.start(far);
  const sink = new RecordingSink();
  const starting = dial.start(sink);
  connect(ours);
  await dial.close();
  await starting;
  expect(sink.closes).toEqual([undefined]);
  expect((await far.closed())?.code).toBe('CLOSED');
});

it('starts only once', async () => {
  const { dial, connect } = pending();
  const starting = dial.start(new RecordingSink());
  await expect(dial.start(new RecordingSink())).rejects.toMatchObject({ code: 'CLOSED' });
  connect(createLinkedPair()[0]);
  await starting;
  await dial.close();
});
