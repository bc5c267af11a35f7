// Serves, but runs on when its input ends; SIGTERM ends it.
import { serve, stayAlive } from '../session-server.mjs';

stayAlive();
serve();
