import { describe, expect, it } from 'vitest';
import { createTool, type RegistryEvent, type Tool, ToolRegistry } from '../../src/bridge/index.ts';

const named = (name: string) => createTool({ name, description: `does ${name}`, call: () => name });

describe('ToolRegistry', () => {
  it('holds tools that are named like members of Object.prototype', () => {
    const registry = new ToolRegistry();
    for (const name of ['constructor', '__proto__', 'toString', '']) {
      expect(registry.has(name)).toBe(false);
      expect(registry.get(name)).toBeUndefined();
      const tool = named(name);
      registry.register(tool);
      expect(registry.get(name)).toBe(tool);
    }
    expect(registry.names()).toEqual(['constructor', '__proto__', 'toString', '']);
    expect(registry.remove('__proto__')).toBe(true);
    expect(registry.has('__proto__')).toBe(false);
  });

  it('refuses a name that is taken and keeps the first tool', () => {
    const registry = new ToolRegistry();
    const first = named('read');
    registry.register(first);
    expect(() => registry.register(named('read'))).toThrow(
      expect.objectContaining({
        code: 'DUPLICATE_TOOL',
        message: expect.stringContaining('Cannot register tool "read": the name is taken'),
      }),
    );
    expect(registry.get('read')).toBe(first);
    expect(registry.size).toBe(1);
  });

  it.each<[unknown, string]>([
    [undefined, 'its name must be a string'],
    [null, 'its name must be a string'],
    [{}, 'its name must be a string'],
    [{ name: 7, call: () => '' }, 'its name must be a string'],
    [{ name: 'x' }, 'the call of "x" must be a function'],
    [{ name: 'x', call: 'y' }, 'the call of "x" must be a function'],
  ])('refuses %j, which is no tool', (what, why) => {
    const registry = new ToolRegistry();
    // Sound: it is the point of this test to pass what the type does not allow.
    expect(() => registry.register(what as Tool)).toThrow(new TypeError(`Cannot register a tool: ${why}`));
    expect(registry.size).toBe(0);
  });

  it('lists names, tools and schemas in the order of registration', () => {
    const registry = new ToolRegistry();
    const tools = ['b', 'a', 'c'].map(named);
    for (const tool of tools) registry.register(tool);
    registry.remove('b');
    registry.register(named('b'));
    expect(registry.names()).toEqual(['a', 'c', 'b']);
    expect([...registry].map((tool) => tool.name)).toEqual(['a', 'c', 'b']);
    expect(registry.tools()[0]).toBe(tools[1]);
    expect(registry.schemas()).toEqual(
      ['a', 'c', 'b'].map((name) => ({ name, description: `does ${name}`, inputSchema: { type: 'object' } })),
    );
  });

  it('may be changed while it is iterated', () => {
    const registry = new ToolRegistry();
    for (const name of ['a', 'b', 'c']) registry.register(named(name));
    const seen: string[] = [];
    for (const tool of registry) {
      seen.push(tool.name);
      registry.remove(tool.name);
    }
    expect(seen).toEqual(['a', 'b', 'c']);
    expect(registry.size).toBe(0);
  });

  it('tells listeners what changed, and nothing when nothing did', () => {
    const registry = new ToolRegistry();
    const events: RegistryEvent[] = [];
    const stop = registry.onChange((event) => events.push(event));
    const tool = named('a');
    registry.register(tool);
    expect(() => registry.register(named('a'))).toThrow();
    expect(registry.remove('b')).toBe(false);
    expect(registry.refreshed(tool)).toBe(true);
    expect(registry.refreshed(named('a'))).toBe(false);
    registry.remove('a');
    expect(registry.refreshed(tool)).toBe(false);
    stop();
    registry.register(tool);
    expect(events).toEqual([
      { type: 'added', name: 'a' },
      { type: 'refreshed', name: 'a' },
      { type: 'removed', name: 'a' },
    ]);
  });

  it('keeps listeners apart that are the same function', () => {
    const registry = new ToolRegistry();
    let heard = 0;
    const listener = () => {
      heard++;
    };
    const stop = registry.onChange(listener);
    registry.onChange(listener);
    registry.register(named('a'));
    stop();
    stop();
    registry.register(named('b'));
    expect(heard).toBe(3);
  });

  it('tells a listener that is added during a change of the next one', () => {
    const registry = new ToolRegistry();
    const heard: string[] = [];
    const add = () => registry.onChange(({ name }) => heard.push(name));
    const stop = registry.onChange(add);
    registry.register(named('a'));
    stop();
    registry.register(named('b'));
    expect(heard).toEqual(['b']);
  });

  it('reports a listener that throws, and the others hear the change all the same', () => {
    const warnings: string[] = [];
    const registry = new ToolRegistry({
      onWarning: ({ code, message }) => warnings.push(`${code} ${message}`),
    });
    const heard: string[] = [];
    registry.onChange(() => {
      throw new Error('listener broke');
    });
    registry.onChange(({ name }) => heard.push(name));
    registry.register(named('a'));
    expect(heard).toEqual(['a']);
    expect(warnings).toEqual(['HANDLER_FAILED A change listener of the registry threw: listener broke']);
  });
});
