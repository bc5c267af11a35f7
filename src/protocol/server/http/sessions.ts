import { McpError } from '../../../jsonrpc/index.ts';
import { atLeastOne } from '../../../jsonrpc/option.ts';
import { nodeCrypto } from '../../crypto.ts';
import type { ServerCore } from '../core.ts';
import { DEFAULT_MAX_LOG_BYTES, type EventLog, MemoryEventLog } from './event-log.ts';
import type { StreamSettings } from './logged-stream.ts';
import { HttpSession } from './session.ts';

export interface SessionOptions {
  /** How long a session may lie idle before it is ended, in milliseconds. An open stream counts as use. Default 1800000 (30 min). */
  idleTimeoutMs?: number;
  /** How many sessions there may be. One more ends the one that lies idle longest; when none does it is refused. Default 10000. */
  maxSessions?: number;
  /** How long a client whose stream was ended early is asked to wait before it comes back, in milliseconds. Default 1000. */
  retryMs?: number;
  /** Where sent events are kept for clients whose connection breaks. Default: in memory, 16 MiB in all. */
  eventLog?: EventLog;
}

/** The sessions of one endpoint. */
export class HttpSessions {
  readonly #core: ServerCore;
  readonly #idleTimeoutMs: number;
  readonly #maxSessions: number;
  readonly #streams: StreamSettings;
  /** The least recently used first. */
  readonly #sessions = new Map<string, HttpSession>();
  readonly #timer: NodeJS.Timeout;

  /** @throws TypeError when an option is out of range. */
  constructor(core: ServerCore, options: SessionOptions) {
    this.#core = core;
    this.#idleTimeoutMs = atLeastOne('sessions.idleTimeoutMs', options.idleTimeoutMs ?? 1_800_000);
    this.#maxSessions = atLeastOne('sessions.maxSessions', options.maxSessions ?? 10_000);
    this.#streams = {
      log: options.eventLog ?? new MemoryEventLog(DEFAULT_MAX_LOG_BYTES),
      retryMs: options.retryMs ?? 1000,
      report: (error) => core.report(error),
    };
    this.#timer = setInterval(() => this.#endIdle(), Math.min(this.#idleTimeoutMs / 4, 60_000));
    this.#timer.unref?.();
  }

  /** Makes a session. Undefined when there is no room for it. */
  create(principal: string): HttpSession | undefined {
    if (this.#sessions.size >= this.#maxSessions && !this.#endOldest()) return undefined;
    const session = new HttpSession(nodeCrypto().randomUUID(), principal, this.#core, this.#streams);
    this.#sessions.set(session.id, session);
    return session;
  }

  /** The session with this id, if it is this principal's; it counts as used. */
  use(id: string, principal: string): HttpSession | undefined {
    const session = this.#sessions.get(id);
    if (!session || session.principal !== principal) return undefined;
    session.lastUsed = performance.now();
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    return session;
  }

  end(session: HttpSession, why: string): void {
    this.#sessions.delete(session.id);
    session.close(new McpError('CLOSED', why));
  }

  close(): void {
    clearInterval(this.#timer);
    for (const session of [...this.#sessions.values()]) this.end(session, 'The server is shutting down');
  }

  #endIdle(): void {
    const since = performance.now() - this.#idleTimeoutMs;
    for (const session of [...this.#sessions.values()]) {
      if (session.isBusy) session.lastUsed = performance.now();
      else if (session.lastUsed < since) this.end(session, 'The session was idle for too long');
    }
  }

  #endOldest(): boolean {
    for (const session of this.#sessions.values()) {
      if (session.isBusy) continue;
      this.end(session, 'The session made room for another');
      return true;
    }
    return false;
  }
}
