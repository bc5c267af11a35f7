import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'conformance/**/*.test.ts'],
    globalSetup: ['test/built.ts'],
    // Most tests start real processes and sockets: the machine's cores are what they share.
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
