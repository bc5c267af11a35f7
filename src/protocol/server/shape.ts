import type { RevisionTraits } from '../revisions.ts';
import type { ContentBlock, Resource, ResourceContents, ResourceTemplate } from '../types/content.ts';
import type {
  CallToolResult,
  GetPromptResult,
  PromptArgument,
  PromptDefinition,
  ReadResourceResult,
  ToolDefinition,
} from '../types/features.ts';
import type { Implementation, ServerCapabilities } from '../types/identity.ts';

// What the server says, in the words of the client's revision: members and kinds that came later are left out, or
// become text where they carry content. Whatever needs no change is returned as it is, not copied.

export function shapeTool(tool: ToolDefinition, traits: RevisionTraits): ToolDefinition {
  const shaped = without(tool, traits.absent.tool);
  const { outputSchema } = shaped;
  if (outputSchema === undefined || traits.structuredContent === 'any' || outputSchema.type === 'object') {
    return shaped;
  }
  return without(shaped, ['outputSchema']);
}

export function shapePrompt(prompt: PromptDefinition, traits: RevisionTraits): PromptDefinition {
  const { absent } = traits;
  const shaped = without(prompt, absent.prompt);
  if (shaped.arguments === undefined) return shaped;
  const args = shapeEach(shaped.arguments, (argument) =>
    without<PromptArgument>(argument, absent.promptArgument),
  );
  return args === shaped.arguments ? shaped : { ...shaped, arguments: args };
}

export function shapeResource<Item extends Resource | ResourceTemplate>(
  resource: Item,
  traits: RevisionTraits,
): Item {
  return shapeAnnotations(without(resource, traits.absent.resource), traits);
}

export function shapeImplementation(info: Implementation, traits: RevisionTraits): Implementation {
  return without(info, traits.absent.implementation);
}

export function shapeCapabilities(
  capabilities: ServerCapabilities,
  traits: RevisionTraits,
): ServerCapabilities {
  return without(capabilities, traits.absent.capabilities);
}

export function shapeToolResult(result: CallToolResult, traits: RevisionTraits): CallToolResult {
  let shaped = without(result, traits.absent.toolResult);
  const content = shapeBlocks(shaped.content, traits);
  if (content !== shaped.content) shaped = { ...shaped, content };
  if (traits.structuredContent !== 'object' || shaped.structuredContent === undefined) return shaped;
  const value = shaped.structuredContent;
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? shaped : without(shaped, ['structuredContent']);
}

export function shapePromptResult(result: GetPromptResult, traits: RevisionTraits): GetPromptResult {
  const messages = shapeEach(result.messages, (message) => {
    const content = shapeBlock(message.content, traits);
    return content === message.content ? message : { ...message, content };
  });
  return messages === result.messages ? result : { ...result, messages };
}

export function shapeReadResult(result: ReadResourceResult, traits: RevisionTraits): ReadResourceResult {
  const shaped = without(result, traits.absent.result);
  const contents = shapeEach(shaped.contents, (item) =>
    without<ResourceContents>(item, traits.absent.contents),
  );
  return contents === shaped.contents ? shaped : { ...shaped, contents };
}

function shapeBlocks(blocks: ContentBlock[], traits: RevisionTraits): ContentBlock[] {
  const { absent, absentBlocks } = traits;
  const differs =
    absentBlocks.length + absent.block.length + absent.annotations.length + absent.contents.length;
  if (differs === 0) return blocks;
  return shapeEach(blocks, (block) => shapeBlock(block, traits));
}

function shapeBlock(block: ContentBlock, traits: RevisionTraits): ContentBlock {
  if (traits.absentBlocks.includes(block.type)) return { type: 'text', text: describeBlock(block) };
  const shaped = shapeAnnotations(without(block, traits.absent.block), traits);
  if (shaped.type !== 'resource') return shaped;
  const resource = without<ResourceContents>(shaped.resource, traits.absent.contents);
  return resource === shaped.resource ? shaped : { ...shaped, resource };
}

/** What stands in for content that the client's revision has no form for. */
function describeBlock(block: ContentBlock): string {
  switch (block.type) {
    case 'audio':
      return `[Audio, ${block.mimeType}: this client's revision of the protocol cannot carry it]`;
    case 'resource_link':
      return `[Resource: ${block.title ?? block.name} (${block.uri})${block.description ? `: ${block.description}` : ''}]`;
    default:
      return `[Content of type ${block.type}]`;
  }
}

function shapeAnnotations<Item extends { annotations?: object }>(item: Item, traits: RevisionTraits): Item {
  if (item.annotations === undefined) return item;
  const annotations = without(item.annotations, traits.absent.annotations);
  return annotations === item.annotations ? item : { ...item, annotations };
}

function shapeEach<Item>(items: Item[], shape: (item: Item) => Item): Item[] {
  const shaped = items.map(shape);
  return shaped.some((item, index) => item !== items[index]) ? shaped : items;
}

/** The same object where it has none of these members, else a copy that lacks them. */
export function without<Value extends object>(value: Value, members: readonly string[]): Value {
  if (!members.some((member) => member in value)) return value;
  const kept = Object.entries(value).filter(([member]) => !members.includes(member));
  // Sound: only members that are optional in these types are ever named.
  return Object.fromEntries(kept) as Value;
}
