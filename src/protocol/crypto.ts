/** `node:crypto`, loaded when it is first needed: who only imports the package shall not wait for it. */
export function nodeCrypto(): typeof import('node:crypto') {
  return process.getBuiltinModule('node:crypto');
}
