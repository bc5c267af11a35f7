/**
 * Marks a promise that the application is given: it may wait for it later, or never, and its failure must not end the
 * process meanwhile.
 */
export function owned<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {});
  return promise;
}
