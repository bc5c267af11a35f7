import { INVALID_PARAMS } from '../jsonrpc/index.ts';
import { RESOURCE_NOT_FOUND } from './errors.ts';

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

/** The parts of messages that gained members from revision to revision. */
export type WirePart =
  | 'annotations'
  | 'block'
  | 'capabilities'
  | 'contents'
  | 'elicitation'
  | 'formField'
  | 'implementation'
  | 'progress'
  | 'prompt'
  | 'promptArgument'
  | 'resource'
  | 'result'
  | 'samplingMessage'
  | 'tool'
  | 'toolResult';

/** Members of a part that a revision does not have yet. */
type AbsentMembers = { readonly [part in WirePart]: readonly string[] };

/** What a revision has that others have not. */
export interface RevisionTraits {
  dialect: DialectName;
  /** Whether several messages may travel as one JSON array. */
  batches: boolean;
  /** Members that must not be sent, by the part that would have them. Nothing where the part has all of them. */
  absent: AbsentMembers;
  /** Kinds of content blocks that must not be sent. */
  absentBlocks: readonly string[];
  /** What structured tool output may be, and with it the root of an output schema. */
  structuredContent: 'none' | 'object' | 'any';
  /** The error code of a resource that does not exist. */
  resourceNotFound: number;
  /** In which ways a person may be asked. */
  elicitationModes: readonly ('form' | 'url')[];
  /** Whether an elicitation by address must carry an id of its own. */
  elicitationIds: boolean;
  /** Whether forms may offer a choice of several values, and titled choices by `oneOf`. */
  richForms: boolean;
  /** Whether a stream may begin with an event that only names an id, so that its client can come back from the start. */
  primedStreams: boolean;
  /** Whether a sampled message may have several content blocks, and tools. */
  richSampling: boolean;
}

const ABSENT_FROM_NONE: AbsentMembers = {
  annotations: [],
  block: [],
  capabilities: [],
  contents: [],
  elicitation: [],
  formField: [],
  implementation: [],
  progress: [],
  prompt: [],
  promptArgument: [],
  resource: [],
  result: [],
  samplingMessage: [],
  tool: [],
  toolResult: [],
};

const ABSENT_FROM_2026_07_28: AbsentMembers = { ...ABSENT_FROM_NONE, elicitation: ['elicitationId'] };

const ABSENT_FROM_2025_11_25: AbsentMembers = {
  ...ABSENT_FROM_NONE,
  capabilities: ['extensions'],
  result: ['ttlMs', 'cacheScope'],
};

const ABSENT_FROM_2025_06_18: AbsentMembers = {
  ...ABSENT_FROM_2025_11_25,
  block: ['icons'],
  elicitation: ['mode', 'elicitationId'],
  formField: ['default'],
  implementation: ['description', 'icons', 'websiteUrl'],
  prompt: ['icons'],
  resource: ['icons'],
  samplingMessage: ['_meta'],
  tool: ['icons'],
};

const ABSENT_FROM_2025_03_26: AbsentMembers = {
  ...ABSENT_FROM_2025_06_18,
  annotations: ['lastModified'],
  block: ['_meta'],
  contents: ['_meta'],
  implementation: [...ABSENT_FROM_2025_06_18.implementation, 'title'],
  prompt: ['icons', 'title', '_meta'],
  promptArgument: ['title'],
  resource: ['icons', 'title', '_meta'],
  tool: ['icons', 'title', 'outputSchema', '_meta'],
  toolResult: ['structuredContent'],
};

const ABSENT_FROM_2024_11_05: AbsentMembers = {
  ...ABSENT_FROM_2025_03_26,
  capabilities: ['extensions', 'completions'],
  progress: ['message'],
  tool: [...ABSENT_FROM_2025_03_26.tool, 'annotations'],
};

export const REVISIONS: { readonly [revision in Revision]: RevisionTraits } = {
  '2026-07-28': {
    dialect: 'stateless',
    batches: false,
    primedStreams: false,
    absent: ABSENT_FROM_2026_07_28,
    absentBlocks: [],
    structuredContent: 'any',
    resourceNotFound: INVALID_PARAMS,
    elicitationModes: ['form', 'url'],
    elicitationIds: false,
    richForms: true,
    richSampling: true,
  },
  '2025-11-25': {
    dialect: 'session',
    batches: false,
    primedStreams: true,
    absent: ABSENT_FROM_2025_11_25,
    absentBlocks: [],
    structuredContent: 'object',
    resourceNotFound: RESOURCE_NOT_FOUND,
    elicitationModes: ['form', 'url'],
    elicitationIds: true,
    richForms: true,
    richSampling: true,
  },
  '2025-06-18': {
    dialect: 'session',
    batches: false,
    primedStreams: false,
    absent: ABSENT_FROM_2025_06_18,
    absentBlocks: [],
    structuredContent: 'object',
    resourceNotFound: RESOURCE_NOT_FOUND,
    elicitationModes: ['form'],
    elicitationIds: false,
    richForms: false,
    richSampling: false,
  },
  '2025-03-26': {
    dialect: 'session',
    batches: true,
    primedStreams: false,
    absent: ABSENT_FROM_2025_03_26,
    absentBlocks: ['resource_link'],
    structuredContent: 'none',
    resourceNotFound: RESOURCE_NOT_FOUND,
    elicitationModes: [],
    elicitationIds: false,
    richForms: false,
    richSampling: false,
  },
  '2024-11-05': {
    dialect: 'session',
    batches: false,
    primedStreams: false,
    absent: ABSENT_FROM_2024_11_05,
    absentBlocks: ['resource_link', 'audio'],
    structuredContent: 'none',
    resourceNotFound: RESOURCE_NOT_FOUND,
    elicitationModes: [],
    elicitationIds: false,
    richForms: false,
    richSampling: false,
  },
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
