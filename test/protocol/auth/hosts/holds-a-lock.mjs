// Holds the lock of the key "a" in the file that it is given until it is killed. Says when it has it, and again when
// it is asked.
import { fileTokenStore } from '../../../../dist/index.js';

await fileTokenStore(process.argv[2]).lock('a', async () => {
  process.send('held');
  process.on('message', () => process.send('still held'));
  await new Promise(() => setInterval(() => {}, 1000));
});
