// Writes short lines that are no message, as fast as they are read, until it is ended.
const lines = 'y\n'.repeat(32 * 1024);
const write = () => process.stdout.write(lines, write);
process.stdout.on('error', () => process.exit(0));
write();
