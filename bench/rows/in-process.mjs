import { race } from '../measure.mjs';
import { contender } from './contenders.mjs';

/** Calls in one process, over what each has for that. */
export function run({ rounds, ms, rivals }) {
  const of = (kind, dialect) => ({
    ...contender('in-process', kind, kind, dialect),
    floor: 'SDK v2, session',
  });
  const contenders = [of('sdk-v2', 'session'), of('mcpwire', 'session'), of('mcpwire', 'stateless')];
  if (rivals) contenders.push(of('sdk-v1', 'session'));
  const row = {
    id: 'in-process',
    title: 'in-process, 64 calls in flight, beside SDK v2 over its linked pair',
    unit: 'calls/s',
    better: 'higher',
    work: 'inFlight',
    args: [ms, 64],
    warmUp: [
      [ms, 64],
      [ms, 64],
    ],
    targets: [{ of: /^mcpwire/, bound: 10 }],
  };
  const sequential = {
    ...row,
    id: 'in-process-sequential',
    title: 'in-process, one call after the other, beside SDK v2 over its linked pair',
    unit: 'µs',
    better: 'lower',
    work: 'sequential',
    args: [ms],
    warmUp: [[ms], [ms]],
    targets: [{ of: /^mcpwire/, bound: 0.1 }],
  };
  return race(contenders, [row, sequential], { rounds });
}
