export { type ErrorCode, McpError, RpcError, TimeoutError, toError } from './error.ts';
export { Inbound, type InboundRequest } from './inbound.ts';
export {
  DEFAULT_MAX_LINE_BYTES,
  encodeLine,
  LineDecoder,
  type LineDecoderOptions,
  type LineSink,
} from './lines.ts';
export type { LostMessage } from './lost-message.ts';
export {
  type Classified,
  classify,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  isJsonObject,
  isRequestId,
  type JsonObject,
  type JsonRpcErrorObject,
  type JsonRpcErrorResponse,
  type JsonRpcMessage,
  type JsonRpcNotification,
  type JsonRpcRequest,
  type JsonRpcResponse,
  type JsonRpcResult,
  METHOD_NOT_FOUND,
  PARSE_ERROR,
  type RequestId,
} from './message.ts';
export {
  type AbandonedCall,
  type CallOptions,
  DEFAULT_MAX_INBOUND,
  DEFAULT_MAX_TIMEOUT_MS,
  DEFAULT_TIMEOUT_MS,
  Peer,
  type PeerOptions,
  type SendOptions,
} from './peer.ts';
export {
  DEFAULT_MAX_EVENT_BYTES,
  encodeEvent,
  SseDecoder,
  type SseDecoderOptions,
  type SseEvent,
  type SseFields,
  type SseSink,
} from './sse.ts';
