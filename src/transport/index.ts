export type { OnClient, Serving } from './clients.ts';
export { safeEnvironment } from './environment.ts';
export type { BearerOptions, ResourceMetadata } from './http/bearer.ts';
export { BearerChallenge, type BearerError } from './http/challenge.ts';
export { type HttpClientOptions, HttpClientTransport } from './http/client.ts';
export type { EndpointOptions } from './http/endpoint.ts';
export type { EventStream } from './http/event-stream.ts';
export type { HttpExchange, HttpHandler, HttpHeaders, HttpRequest } from './http/exchange.ts';
export { type FetchContext, type FetchListener, toFetchListener } from './http/fetch.ts';
export { HttpError, type HttpErrorDetails, httpErrorOf, type ReplyHeaders } from './http/http-error.ts';
export { type LegacySseOptions, LegacySseTransport } from './http/legacy-sse.ts';
export { type HttpListening, type HttpListenOptions, listenHttp } from './http/listen.ts';
export { type NodeListener, type NodeRequest, toNodeListener } from './http/node.ts';
export type { PoolingMode } from './http/pooling.ts';
export type { RedirectMode } from './http/redirect.ts';
export type {
  HeaderMap,
  HttpAuthorizer,
  HttpChallenge,
  HttpRequestInfo,
} from './http/round-trip.ts';
export type { HttpMethod, HttpServerOptions } from './http/server-options.ts';
export { createLinkedPair } from './memory.ts';
export { DEFAULT_GRACE_MS, type ProcessOptions, type ProcessSpec, ProcessTransport } from './process.ts';
export { ProcessError } from './process-error.ts';
export { type SocketOptions, type SocketTarget, SocketTransport } from './socket.ts';
export {
  listenSocket,
  type SocketListener,
  type SocketListenLimits,
  type SocketListenOptions,
} from './socket-server.ts';
export { DEFAULT_MAX_BUFFERED_BYTES, type StreamOptions, StreamTransport } from './stream.ts';
export type { Transport, TransportSink } from './transport.ts';
export { type WebSocketOptions, WebSocketTransport } from './websocket.ts';
export type { WebSocketClientInfo, WebSocketListener } from './websocket-listener.ts';
export { acceptWebSockets, type WebSocketListenOptions } from './websocket-server.ts';
