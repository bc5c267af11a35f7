import { kindOf, misuse } from '../../jsonrpc/option.ts';
import type { Transport } from '../../transport/index.ts';
import type { InferOutput, SchemaLike } from '../standard-schema.ts';
import type { Resource, ResourceTemplate } from '../types/content.ts';
import type { PromptDefinition } from '../types/features.ts';
import { type ConnectOptions, ServerConnection } from './connection.ts';
import { type Middleware, ServerCore } from './core.ts';
import { readServerOptions, type ServerOptions } from './options.ts';
import type { PromptArguments, PromptHandler, PromptOptions } from './prompts.ts';
import type {
  ResourceOptions,
  ResourceReader,
  ResourceTemplateOptions,
  TemplateReader,
} from './resources.ts';
import { StatelessDialect } from './stateless.ts';
import type { StructuredReturn, ToolDeclaration, ToolHandler, ToolSource } from './tools.ts';
import type { TemplateVariables } from './uri-template.ts';

/** What carriers other than a channel need of a server. */
export interface ServerParts {
  readonly core: ServerCore;
  readonly stateless: StatelessDialect;
  /** Adds what is to be called, and waited for, when the server closes; it never rejects. Returns what removes it. */
  onClose(listener: () => void | Promise<void>): () => void;
}

/** Opens a server to the code that serves it. */
export let partsOf: (server: McpServer) => ServerParts;

/** @throws TypeError for what no compiler has seen, and is no server. */
export function assertServer(server: McpServer): void {
  if (!(server instanceof McpServer)) misuse('server', 'an McpServer', kindOf(server));
}

/**
 * A server: tools, prompts and resources, for clients of either dialect, over any transport. A handler is written once.
 *
 * Whatever is registered or removed while clients are connected is told to those that want to hear of it.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server
 */
export class McpServer {
  readonly #core: ServerCore;
  readonly #stateless: StatelessDialect;
  readonly #connections = new Set<ServerConnection>();
  readonly #onClose = new Set<() => void | Promise<void>>();

  static {
    partsOf = (server) => {
      assertServer(server);
      return {
        core: server.#core,
        stateless: server.#stateless,
        onClose: (listener) => {
          server.#onClose.add(listener);
          return () => server.#onClose.delete(listener);
        },
      };
    };
  }

  /** @throws TypeError when an option is missing or out of range. */
  constructor(options: ServerOptions) {
    this.#core = new ServerCore(readServerOptions(options));
    this.#stateless = new StatelessDialect(this.#core);
  }

  /**
   * Registers a tool. Returns what removes it. Arguments are checked against its input schema before the handler is
   * called; a client that sends others gets a result with `isError` that says what is wrong.
   *
   * @throws TypeError when there is one of that name, or a schema cannot be used.
   */
  tool<
    const Input extends SchemaLike = { readonly type: 'object' },
    const Output extends SchemaLike = SchemaLike,
  >(
    declaration: ToolDeclaration<Input, Output>,
    handler: ToolHandler<InferOutput<Input>, StructuredReturn<NoInfer<Output>>>,
  ): () => void {
    // Sound: the handler gets only what was checked against the schema that its argument's type follows from.
    return this.#core.tools.add(declaration, handler as ToolHandler);
  }

  /** Serves tools that are kept elsewhere. Returns what removes them. @throws TypeError when there is a source already. */
  toolSource(source: ToolSource): () => void {
    return this.#core.tools.addSource(source);
  }

  /** Registers a prompt. Returns what removes it. @throws TypeError when there is one of that name. */
  prompt<const Definition extends PromptDefinition>(
    definition: Definition,
    handler: PromptHandler<PromptArguments<Definition['arguments']>>,
    options: PromptOptions = {},
  ): () => void {
    // Sound: what the handler relies on is checked from the same definition before it is called.
    return this.#core.prompts.add(definition, handler as PromptHandler, options);
  }

  /** Registers a resource. Returns what removes it. @throws TypeError when there is one of that URI. */
  resource(definition: Resource, reader: ResourceReader, options: ResourceOptions = {}): () => void {
    return this.#core.resources.add(definition, reader, options);
  }

  /**
   * Registers all resources whose URIs a template gives, as `test://{id}/data` does. Returns what removes it. A resource
   * registered by itself comes before templates, and templates in the order of registration.
   *
   * @throws TypeError when the template is malformed, or there is the same already.
   * @see https://www.rfc-editor.org/rfc/rfc6570
   */
  resourceTemplate<const Template extends string>(
    definition: Omit<ResourceTemplate, 'uriTemplate'> & { uriTemplate: Template },
    reader: TemplateReader<TemplateVariables<Template>>,
    options: ResourceTemplateOptions = {},
  ): () => void {
    // Sound: the matcher gives what the type reads from the same template.
    return this.#core.resources.addTemplate(definition, reader as TemplateReader, options);
  }

  /** Runs around every request, in the order of these calls. */
  use(middleware: Middleware): void {
    this.#core.use(middleware);
  }

  /** Tells clients that the list of tools is another. Registering does so by itself. */
  notifyToolsChanged(): void {
    this.#core.feed.listChanged('tools');
  }

  /** Tells clients that the list of prompts is another. Registering does so by itself. */
  notifyPromptsChanged(): void {
    this.#core.feed.listChanged('prompts');
  }

  /** Tells clients that the list of resources is another. Registering does so by itself. */
  notifyResourcesChanged(): void {
    this.#core.feed.listChanged('resources');
  }

  /** Tells the clients that watch a resource that it reads differently now. */
  notifyResourceUpdated(uri: string): void {
    this.#core.feed.resourceUpdated(uri);
  }

  /** Serves one client over a transport that was not started yet. It is started; a failure of that ends the connection. */
  connect(transport: Transport, options: ConnectOptions = {}): ServerConnection {
    const connection = new ServerConnection(this.#core, this.#stateless, transport, options);
    this.#connections.add(connection);
    void connection.closed.then(() => this.#connections.delete(connection));
    return connection;
  }

  /**
   * Ends all connections, subscriptions in good order, and what listens for this server: that of `serveHttp`, `serveSocket`
   * and `serveWebSocket`. Requests that are being answered come to an end first, within the time that each of these gives
   * them. Handlers that are mounted elsewhere answer 503 from then on. Idempotent, never rejects.
   */
  async close(): Promise<void> {
    this.#stateless.subscriptions.end();
    const listeners = [...this.#onClose].map((listener) => listener());
    await Promise.all([...listeners, ...[...this.#connections].map((connection) => connection.close())]);
  }
}
