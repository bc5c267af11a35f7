import { RpcError } from '../../jsonrpc/index.ts';
import type { RevisionTraits } from '../revisions.ts';
import type { Resource, ResourceTemplate } from '../types/content.ts';
import type {
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceResult,
} from '../types/features.ts';
import type { CacheHints } from '../types/identity.ts';
import type { Completers } from './completion.ts';
import type { Context, RequestContext } from './context.ts';
import {
  assertDefinition,
  type FeatureHost,
  invalidParams,
  isPromiseLike,
  requireString,
} from './feature.ts';
import { cutPage } from './pages.ts';
import { type ResourceReturn, readResourceReturn } from './results.ts';
import { shapeReadResult, shapeResource } from './shape.ts';
import { Shelf } from './shelf.ts';
import type { UriVariables } from './uri-matcher.ts';
import { parseUriTemplate, type UriTemplate } from './uri-template.ts';

/** Reads a resource. */
export type ResourceReader = (
  uri: string,
  context: RequestContext,
) => ResourceReturn | Promise<ResourceReturn>;

/** Reads one of the resources of a template. `variables` holds what the URI has in their places, decoded. */
export type TemplateReader<Variables = UriVariables> = (
  uri: string,
  variables: Variables,
  context: RequestContext,
) => ResourceReturn | Promise<ResourceReturn>;

export interface ResourceOptions {
  /** How long and by whom what is read may be reused. Default: the server's `cache`. */
  cache?: CacheHints;
}

export interface ResourceTemplateOptions extends ResourceOptions {
  /** Suggests values of variables, by their names. */
  complete?: Completers;
  /** Lists resources of the template that are worth naming, in a stable order. Default: none are listed. */
  list?: (context: RequestContext) => readonly Resource[] | Promise<readonly Resource[]>;
}

interface RegisteredResource {
  readonly definition: Resource;
  readonly reader: ResourceReader;
  readonly cache: CacheHints | undefined;
}

interface RegisteredTemplate extends ResourceTemplateOptions {
  readonly definition: ResourceTemplate;
  readonly reader: TemplateReader;
  readonly template: UriTemplate;
}

/** The resources of a server: what `resources/list`, `resources/templates/list` and `resources/read` answer from. */
export class Resources {
  readonly #host: FeatureHost;
  readonly #fixed: Shelf<Resource, RegisteredResource>;
  readonly #templates: Shelf<ResourceTemplate, RegisteredTemplate>;

  constructor(host: FeatureHost, changed: () => void) {
    this.#host = host;
    this.#fixed = new Shelf('resource', 'uri', shapeResource<Resource>, changed);
    this.#templates = new Shelf('resource template', 'uriTemplate', shapeResource<ResourceTemplate>, changed);
  }

  get completes(): boolean {
    return [...this.#templates.entries()].some(({ complete }) => complete !== undefined);
  }

  add(definition: Resource, reader: ResourceReader, { cache }: ResourceOptions): () => void {
    assertDefinition('resource', definition);
    return this.#fixed.add(definition.uri, { definition, reader, cache }, reader);
  }

  /** @throws TypeError for a malformed template, or one that is registered. */
  addTemplate(
    definition: ResourceTemplate,
    reader: TemplateReader,
    options: ResourceTemplateOptions,
  ): () => void {
    assertDefinition('resource template', definition);
    const template = parseUriTemplate(definition.uriTemplate);
    return this.#templates.add(definition.uriTemplate, { ...options, definition, reader, template }, reader);
  }

  /**
   * Those of a template, named by itself or by one of its URIs.
   *
   * @throws RpcError -32602 when there is no such template or resource.
   */
  completers(uri: string): Completers | undefined {
    const template = this.#templates.get(uri) ?? this.#match(uri)?.template;
    if (template) return template.complete;
    if (this.#fixed.get(uri)) return undefined;
    throw invalidParams(`Unknown resource template: ${uri}`);
  }

  list(context: Context): ListResourcesResult | Promise<ListResourcesResult> {
    const fixed = this.#fixed.list(context.traits);
    const listing = [...this.#templates.entries()].filter(({ list }) => list !== undefined);
    if (listing.length === 0) return this.#page(fixed, context);
    return Promise.all(listing.map(({ list }) => list?.(context) ?? [])).then((lists) =>
      this.#page(this.#merge(fixed, lists.flat(), context.traits), context),
    );
  }

  listTemplates(context: Context): ListResourceTemplatesResult {
    const templates = this.#templates.list(context.traits);
    const { items, nextCursor } = cutPage(
      'resources/templates/list',
      templates,
      ({ uriTemplate }) => uriTemplate,
      context.params.cursor,
      this.#host.pageSize,
    );
    const result: ListResourceTemplatesResult = { resourceTemplates: [...items] };
    if (nextCursor !== undefined) result.nextCursor = nextCursor;
    return result;
  }

  read(context: Context): ReadResourceResult | Promise<ReadResourceResult> {
    const uri = requireString(context.params, 'uri');
    const fixed = this.#fixed.get(uri);
    const match = fixed ? undefined : this.#match(uri);
    const found = fixed ?? match?.template;
    if (!found) throw notFound(uri, context);
    const returned = fixed
      ? fixed.reader(uri, context)
      : match?.template.reader(uri, match.variables, context);
    const { definition, cache } = found;
    const complete = (value: unknown): ReadResourceResult => {
      const result = readResourceReturn(uri, definition.mimeType, value);
      if (!result) throw notFound(uri, context);
      return shapeReadResult(cache ? { ...cache, ...result } : result, context.traits);
    };
    return isPromiseLike(returned) ? Promise.resolve(returned).then(complete) : complete(returned);
  }

  /** The first template, in the order of registration, that gives this URI. */
  #match(uri: string): { template: RegisteredTemplate; variables: UriVariables } | undefined {
    for (const template of this.#templates.entries()) {
      const variables = template.template.match(uri);
      if (variables) return { template, variables };
    }
    return undefined;
  }

  /** Each URI once: a registered resource hides those of templates, and each of these later ones. */
  #merge(
    fixed: readonly Resource[],
    listed: readonly Resource[],
    traits: RevisionTraits,
  ): readonly Resource[] {
    const byUri = new Map(fixed.map((resource) => [resource.uri, resource]));
    for (const resource of listed) {
      if (!byUri.has(resource.uri)) byUri.set(resource.uri, shapeResource(resource, traits));
    }
    return [...byUri.values()];
  }

  #page(resources: readonly Resource[], context: Context): ListResourcesResult {
    const { items, nextCursor } = cutPage(
      'resources/list',
      resources,
      ({ uri }) => uri,
      context.params.cursor,
      this.#host.pageSize,
    );
    const result: ListResourcesResult = { resources: [...items] };
    if (nextCursor !== undefined) result.nextCursor = nextCursor;
    return result;
  }
}

function notFound(uri: string, context: Context): RpcError {
  return new RpcError(context.traits.resourceNotFound, `Resource not found: ${uri}`, { uri });
}
