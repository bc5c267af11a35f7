import type { ServerResponse } from 'node:http';
import type { JsonObject } from '../../../src/jsonrpc/index.ts';
import { type Received, ScriptedServer } from '../../transport/http/scripted-server.ts';

/** How an authorization server behaves; what is not given behaves well. */
export interface IssuerScript {
  /** Where its metadata is. Default `/.well-known/oauth-authorization-server`. */
  metadataPath?: string;
  /** Members to put over its metadata; undefined ones are left out. */
  metadata?: JsonObject;
  register?: (body: JsonObject, response: ServerResponse) => void;
  token?: (form: URLSearchParams, response: ServerResponse, received: Received) => void;
  /** Parameters to put over those of its redirect; undefined ones are left out. */
  redirect?: { [name: string]: string | undefined };
  /** Answers everything else. */
  other?: (received: Received, response: ServerResponse) => void;
}

/** An authorization server that does what a test says, and remembers what it was asked. */
export class ScriptedIssuer {
  readonly #server: ScriptedServer;
  readonly #script: IssuerScript;
  /** The tokens that are good. */
  readonly tokens = new Set<string>();
  readonly registrations: JsonObject[] = [];
  readonly tokenRequests: URLSearchParams[] = [];
  readonly authorizations: URLSearchParams[] = [];
  #count = 0;

  private constructor(server: ScriptedServer, script: IssuerScript) {
    this.#server = server;
    this.#script = script;
  }

  static async start(script: IssuerScript = {}): Promise<ScriptedIssuer> {
    const server = await ScriptedServer.start((received, response) => issuer.#answer(received, response));
    const issuer = new ScriptedIssuer(server, script);
    return issuer;
  }

  get url(): string {
    return this.#server.origin;
  }

  /** Method and path of all that was received. */
  get asked(): string[] {
    return this.#server.received.map(({ method, path }) => `${method} ${path}`);
  }

  get received(): readonly Received[] {
    return this.#server.received;
  }

  /** A token that is good. */
  issue(): string {
    const token = `token-${++this.#count}`;
    this.tokens.add(token);
    return token;
  }

  /** What a user's browser does when the user agrees at once: it follows the redirect. */
  readonly agree = async (url: URL): Promise<void> => {
    await fetch(this.redirectFor(url));
  };

  /** Where the user's browser is sent in the end. */
  redirectFor(url: URL): URL {
    const { searchParams } = url;
    this.authorizations.push(searchParams);
    const target = new URL(searchParams.get('redirect_uri') ?? '');
    const answer = {
      code: 'code',
      state: searchParams.get('state'),
      iss: this.url,
      ...this.#script.redirect,
    };
    for (const [name, value] of Object.entries(answer)) {
      if (value !== undefined && value !== null) target.searchParams.set(name, value);
    }
    return target;
  }

  #answer(received: Received, response: ServerResponse): void {
    const { method, path, body } = received;
    const { metadataPath = '/.well-known/oauth-authorization-server' } = this.#script;
    if (method === 'GET' && path === metadataPath) sendJson(response, 200, this.#metadata());
    else if (method === 'POST' && path === '/register') this.#register(JSON.parse(body), response);
    else if (method === 'POST' && path === '/token')
      this.#token(new URLSearchParams(body), response, received);
    else if (this.#script.other) this.#script.other(received, response);
    else response.writeHead(404).end();
  }

  #metadata(): JsonObject {
    return {
      issuer: this.url,
      authorization_endpoint: `${this.url}/authorize`,
      token_endpoint: `${this.url}/token`,
      registration_endpoint: `${this.url}/register`,
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      ...this.#script.metadata,
    };
  }

  #register(body: JsonObject, response: ServerResponse): void {
    this.registrations.push(body);
    if (this.#script.register) this.#script.register(body, response);
    else sendJson(response, 201, { ...body, client_id: `client-${this.registrations.length}` });
  }

  #token(form: URLSearchParams, response: ServerResponse, received: Received): void {
    this.tokenRequests.push(form);
    if (this.#script.token) this.#script.token(form, response, received);
    else sendJson(response, 200, { access_token: this.issue(), token_type: 'Bearer', expires_in: 3600 });
  }
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
