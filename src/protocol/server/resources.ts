import { RpcError } from '../../jsonrpc/index.ts';
import type { Resource } from '../types/content.ts';
import type {
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceResult,
} from '../types/features.ts';
import type { CacheHints } from '../types/identity.ts';
import type { Context, RequestContext } from './context.ts';
import { type FeatureHost, isPromiseLike, requireString } from './feature.ts';
import { cutPage } from './pages.ts';
import { type ResourceReturn, readResourceReturn } from './results.ts';
import { shapeReadResult, shapeResource } from './shape.ts';
import { Shelf } from './shelf.ts';

/** Reads a resource. */
export type ResourceReader = (
  uri: string,
  context: RequestContext,
) => ResourceReturn | Promise<ResourceReturn>;

export interface ResourceOptions {
  /** How long and by whom what is read may be reused. Default: the server's `cache`. */
  cache?: CacheHints;
}

interface RegisteredResource {
  readonly definition: Resource;
  readonly reader: ResourceReader;
  readonly cache: CacheHints | undefined;
}

/** The resources of a server: what `resources/list`, `resources/templates/list` and `resources/read` answer from. */
export class Resources {
  readonly #host: FeatureHost;
  readonly #shelf: Shelf<Resource, RegisteredResource>;

  constructor(host: FeatureHost, changed: () => void) {
    this.#host = host;
    this.#shelf = new Shelf('resource', shapeResource<Resource>, changed);
  }

  add(definition: Resource, reader: ResourceReader, { cache }: ResourceOptions): () => void {
    return this.#shelf.add(definition.uri, { definition, reader, cache });
  }

  list(context: Context): ListResourcesResult {
    const resources = this.#shelf.list(context.traits);
    const { cursor } = context.params;
    const { items, nextCursor } = cutPage(
      'resources/list',
      resources,
      ({ uri }) => uri,
      cursor,
      this.#host.pageSize,
    );
    const result: ListResourcesResult = { resources: [...items] };
    if (nextCursor !== undefined) result.nextCursor = nextCursor;
    return result;
  }

  listTemplates(): ListResourceTemplatesResult {
    return { resourceTemplates: [] };
  }

  read(context: Context): ReadResourceResult | Promise<ReadResourceResult> {
    const uri = requireString(context.params, 'uri');
    const resource = this.#shelf.get(uri);
    if (!resource) throw notFound(uri, context);
    const { definition, reader, cache } = resource;
    const complete = (returned: unknown): ReadResourceResult => {
      const result = readResourceReturn(uri, definition.mimeType, returned);
      if (!result) throw notFound(uri, context);
      return shapeReadResult({ ...cache, ...result }, context.traits);
    };
    const returned = reader(uri, context);
    return isPromiseLike(returned) ? Promise.resolve(returned).then(complete) : complete(returned);
  }
}

function notFound(uri: string, context: Context): RpcError {
  return new RpcError(context.traits.resourceNotFound, `Resource not found: ${uri}`, { uri });
}
