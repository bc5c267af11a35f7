/**
 * A piece of what a model says, as a host hands it on: the whole of it, or a part of a longer text. A host may have types of
 * its own beside these: see {@link OtherBlock}.
 */
export type StreamBlock = TextBlock | ThinkingBlock | ToolCallBlock | ToolResultBlock;

/** A block of a host's own. Plugins get it as every other, and those of this package return it as it is. */
export interface OtherBlock {
  type: string;
}

export interface TextBlock {
  type: 'text';
  text: string;
}

export interface ThinkingBlock {
  type: 'thinking';
  text: string;
}

/** The model wants a tool to be called. */
export interface ToolCallBlock {
  type: 'toolCall';
  /** The model's name for this call. */
  id: string;
  /** The tool. */
  name: string;
  /** What the model wrote: an object, or the JSON text of one. */
  arguments: unknown;
}

/** What the call of a tool gave. */
export interface ToolResultBlock {
  type: 'toolResult';
  toolCallId: string;
  output: string;
}

/** What a host tells a plugin beside a block. */
export interface StreamContext {
  /** Aborted when nobody wants the stream any more. */
  signal?: AbortSignal;
}

/**
 * Something that takes part in the talk between a host and a model. Every method is optional. `Other` are the blocks that
 * the host has beside {@link StreamBlock}.
 */
export interface Plugin<Other extends OtherBlock = never> {
  readonly name: string;
  /** Called with what the host is about to send to the model, in the host's own form; may change it. */
  onRequest?(request: object): void | Promise<void>;
  /** Called with each block of the model's answer; returns the one that takes its place, or the same. */
  onStreamChunk?(
    block: StreamBlock | Other,
    context: StreamContext,
  ): StreamBlock | Other | Promise<StreamBlock | Other>;
  /** Called once when the answer has come to its end, with all the blocks of it. */
  onResponseComplete?(blocks: readonly (StreamBlock | Other)[]): void | Promise<void>;
}
