import { McpError, toError } from '../../jsonrpc/index.ts';
import { authorize, type BearerGuard } from './bearer.ts';
import { checkParsedBody, decodeBody, parseBody } from './body.ts';
import { BearerChallenge } from './challenge.ts';
import type { ChannelExchange } from './channel.ts';
import type { HttpHandler } from './exchange.ts';
import { checkContent, checkEndpoint, checkEntry, methodRefusal } from './guard.ts';
import { Refusal } from './refusal.ts';
import type { HttpServerSettings } from './server-options.ts';

/**
 * The way of every request, whatever it came in by: guards, public metadata, token, body, handler. Each step before the
 * last may turn it away. Never rejects.
 */
export async function serve(
  exchange: ChannelExchange,
  handler: HttpHandler,
  settings: HttpServerSettings,
): Promise<void> {
  const { auth } = settings;
  try {
    const atDoor = checkEntry(exchange, settings);
    if (atDoor) return exchange.refuse(atDoor);
    if (auth?.metadataPaths.includes(exchange.path)) return replyMetadata(exchange, auth);
    const refusal =
      checkEndpoint(exchange, settings) ??
      (auth && (await admit(exchange, auth))) ??
      checkContent(exchange, settings) ??
      (exchange.method === 'POST' ? await readBody(exchange, settings) : undefined);
    if (refusal) return exchange.refuse(refusal);
    if (exchange.answered) return;
    // Not awaited: this function would be kept, with all it holds, for as long as an answer takes.
    // What a handler returns may be anything, whatever its type says.
    const answering = handler(exchange);
    if (answering) Promise.resolve(answering).catch((thrown) => answerFailure(thrown, exchange, settings));
  } catch (thrown) {
    answerFailure(thrown, exchange, settings);
  }
}

const METADATA_METHODS = ['GET', 'HEAD', 'OPTIONS'];
const ANY_ORIGIN = { 'access-control-allow-origin': '*' };
const PREFLIGHT = {
  ...ANY_ORIGIN,
  'access-control-allow-methods': 'GET, HEAD',
  'access-control-allow-headers': '*',
};

/** Public by nature: any page may read where to get a token. */
function replyMetadata(exchange: ChannelExchange, { metadata }: BearerGuard): void {
  const { method } = exchange;
  if (method === 'GET' || method === 'HEAD') exchange.reply(200, metadata, ANY_ORIGIN);
  else if (method === 'OPTIONS') exchange.reply(204, undefined, PREFLIGHT);
  else exchange.refuse(methodRefusal(method, METADATA_METHODS));
}

async function admit(exchange: ChannelExchange, guard: BearerGuard): Promise<Refusal | undefined> {
  const principal = await authorize(exchange, guard);
  if (principal instanceof Refusal) return principal;
  exchange.auth = principal;
  return;
}

async function readBody(
  exchange: ChannelExchange,
  settings: HttpServerSettings,
): Promise<Refusal | undefined> {
  const { channel } = exchange;
  const given = channel.givenBody;
  if (given !== undefined && typeof given !== 'string' && !(given instanceof Uint8Array)) {
    exchange.body = given;
    return checkParsedBody(given, settings.maxDepth);
  }
  const bytes = given ?? (await channel.readBody(settings.maxBodyBytes));
  if (bytes === undefined) return exchange.leave();
  if (bytes instanceof Refusal) return bytes;
  const text = typeof bytes === 'string' ? bytes : decodeBody(bytes);
  if (text instanceof Refusal) return text;
  const value = parseBody(text, settings.maxDepth);
  if (value instanceof Refusal) return value;
  exchange.body = value;
  return;
}

function answerFailure(thrown: unknown, exchange: ChannelExchange, { onError }: HttpServerSettings): void {
  try {
    if (thrown instanceof BearerChallenge && exchange.challenge(thrown)) return;
    const cause = toError(thrown);
    const message = `Cannot answer ${exchange.method} ${exchange.path}: ${cause.message}`;
    onError(new McpError('HANDLER_FAILED', message, { cause }));
    exchange.fail();
  } catch {
    // Somebody else has answered in our place, such as a framework whose patience ran out: nothing is left to say.
  }
}
