// Never reads its input, so that it never sees the end of it either.
import { stayAlive } from '../session-server.mjs';

process.stderr.write('ready\n');
stayAlive();
