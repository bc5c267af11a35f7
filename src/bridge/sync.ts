import { fingerprintOf, type ToolContract } from './contract.ts';
import { ImportedTool, type ToolSource } from './imported-tool.ts';
import type { ToolRegistry } from './registry.ts';

/** What a sync did, by the names in the registry, each list sorted. */
export interface SyncReport {
  added: string[];
  removed: string[];
  /** The same object, with the same contract. */
  untouched: string[];
  /** The same object, with another contract. */
  refreshed: string[];
}

/**
 * What one registry was last brought to. A tool that is in two registries is one object: what the first sync changes, the
 * second registry's listeners still have to hear of.
 */
export interface Mirrored {
  contracts: Map<string, ToolContract>;
  /** Names that another tool has: a warning was given. */
  foreign: Set<string>;
}

/**
 * Makes the tools of this source in a registry those of a snapshot: without a wait in between, and without a change to any
 * other tool. The snapshot gets the objects that the registry holds.
 *
 * @param warnForeign Hears of a name that a tool of another origin has, once as long as that lasts.
 */
export function mirror(
  snapshot: Map<string, ImportedTool>,
  source: ToolSource,
  registry: ToolRegistry,
  mirrored: Mirrored,
  warnForeign: (name: string) => void,
): SyncReport {
  const report: SyncReport = { added: [], removed: [], untouched: [], refreshed: [] };
  const before = { ...mirrored };
  mirrored.contracts = new Map();
  mirrored.foreign = new Set();
  for (const tool of registry.tools()) {
    if (ImportedTool.isOf(source, tool) && !snapshot.has(tool.name) && registry.get(tool.name) === tool) {
      registry.remove(tool.name);
      report.removed.push(tool.name);
    }
  }
  for (const [name, tool] of snapshot) {
    const held = registry.get(name);
    if (held === undefined) {
      registry.register(tool);
      report.added.push(name);
    } else if (ImportedTool.isOf(source, held)) {
      const known = before.contracts.get(name) ?? held.contract;
      snapshot.set(name, held);
      held.adopt(tool.contract);
      if (fingerprintOf(known) === fingerprintOf(tool.contract)) {
        report.untouched.push(name);
      } else {
        registry.refreshed(held);
        report.refreshed.push(name);
      }
    } else {
      mirrored.foreign.add(name);
      if (!before.foreign.has(name)) warnForeign(name);
      continue;
    }
    mirrored.contracts.set(name, tool.contract);
  }
  for (const names of Object.values(report)) names.sort();
  return report;
}
