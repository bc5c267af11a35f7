import { McpError } from './error.ts';

/**
 * Loads a package when it is needed. When that fails, the message leaves out what Node says, for it may reach a peer or a
 * model, and Node names folders of this machine; the `cause` has it. The `import()` is the caller's, with a literal
 * specifier, for bundlers to find.
 *
 * @throws McpError `LOAD_FAILED`
 */
export async function loadPackage<Module>(name: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    const why = 'it is not installed where this runs, or not in the bundle as it must be (docs/bundling.md)';
    throw new McpError('LOAD_FAILED', `Cannot load the package ${name}: ${why}`, { cause });
  }
}
