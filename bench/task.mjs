// Work without a wire, in a process of its own: what `tasks/KIND.mjs` exports, one piece at a time.
const { kind, ...contender } = JSON.parse(process.argv[2]);
const { create } = await import(`./tasks/${kind}.mjs`);
const works = await create(contender);

process.on('message', async ({ work, args }) => {
  if (work === 'close') process.exit();
  try {
    process.send({ value: await works[work]?.(...args) });
  } catch (error) {
    process.send({ error: error.stack ?? String(error) });
  }
});
process.once('disconnect', () => process.exit());
process.send('ready');
