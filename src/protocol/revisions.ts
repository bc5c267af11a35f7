// What differs from revision to revision, as data. Nothing else in the package compares versions.

/** How a client and a server get to know each other. */
export type DialectName =
  /** The specification's *legacy*: an `initialize` handshake opens a session that remembers. */
  | 'session'
  /** The specification's *modern*: every request says version, identity and capabilities itself. */
  | 'stateless';

/** The revisions of the session dialect, newest first. */
export const SESSION_REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;
/** The revisions of the stateless dialect, newest first. */
export const STATELESS_REVISIONS = ['2026-07-28'] as const;

export type SessionRevision = (typeof SESSION_REVISIONS)[number];
export type StatelessRevision = (typeof STATELESS_REVISIONS)[number];
export type Revision = SessionRevision | StatelessRevision;

/** What a revision has that others have not. */
export interface RevisionTraits {
  dialect: DialectName;
  /** Whether several messages may travel as one JSON array. */
  batches: boolean;
}

export const REVISIONS: { readonly [revision in Revision]: RevisionTraits } = {
  '2026-07-28': { dialect: 'stateless', batches: false },
  '2025-11-25': { dialect: 'session', batches: false },
  '2025-06-18': { dialect: 'session', batches: false },
  '2025-03-26': { dialect: 'session', batches: true },
  '2024-11-05': { dialect: 'session', batches: false },
};

export function isSessionRevision(value: unknown): value is SessionRevision {
  return SESSION_REVISIONS.some((revision) => revision === value);
}

export function isStatelessRevision(value: unknown): value is StatelessRevision {
  return STATELESS_REVISIONS.some((revision) => revision === value);
}

/** The newest stateless revision that both sides speak; undefined when there is none. */
export function sharedStatelessRevision(supported: readonly unknown[]): StatelessRevision | undefined {
  return STATELESS_REVISIONS.find((revision) => supported.includes(revision));
}
