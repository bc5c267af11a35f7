import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import ts from 'typescript';

/** Which files each file imports, by path inside the folder, and which packages. */
export interface ImportGraph {
  files: ReadonlyMap<string, ReadonlySet<string>>;
  packages: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Reads every import of every file in a folder: types, re-exports, `import()` and `require()` included. */
export function readImportGraph(folder: string): ImportGraph {
  const files = new Map<string, Set<string>>();
  const packages = new Map<string, Set<string>>();
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  for (const name of names) {
    const file = name.split(sep).join('/');
    const [ownFiles, ownPackages] = [new Set<string>(), new Set<string>()];
    files.set(file, ownFiles);
    packages.set(file, ownPackages);
    for (const specifier of importsOf(file, readFileSync(join(folder, name), 'utf8'))) {
      if (specifier.startsWith('.'))
        ownFiles.add(
          relative('.', join(dirname(file), specifier))
            .split(sep)
            .join('/'),
        );
      else ownPackages.add(specifier);
    }
  }
  return { files, packages };
}

/** The specifiers that a source text imports. Throws for one that is computed: nobody could check it. */
export function importsOf(name: string, source: string): string[] {
  const specifiers: string[] = [];
  const take = (specifier: ts.Node | undefined) => {
    if (!specifier || !ts.isStringLiteralLike(specifier))
      throw new Error(`${name} imports a computed specifier`);
    specifiers.push(specifier.text);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) take(node.moduleSpecifier);
    else if (ts.isExportDeclaration(node) && node.moduleSpecifier) take(node.moduleSpecifier);
    else if (ts.isImportEqualsDeclaration(node) && ts.isExternalModuleReference(node.moduleReference))
      take(node.moduleReference.expression);
    else if (ts.isImportTypeNode(node))
      take(ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined);
    else if (ts.isCallExpression(node) && isLoader(node.expression)) take(node.arguments[0]);
    else if (
      ts.isVariableDeclaration(node) &&
      isCreateRequire(node.initializer) &&
      node.name.getText() !== 'require'
    )
      throw new Error(`${name} hides its imports behind the name ${node.name.getText()}`);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(name, source, ts.ScriptTarget.Latest, true));
  return specifiers;
}

/** What `createRequire` makes must be called at once or be named `require`, so that its calls are seen. */
function isLoader(callee: ts.Expression): boolean {
  if (callee.kind === ts.SyntaxKind.ImportKeyword || isCreateRequire(callee)) return true;
  return /^(require|require\.resolve|import\.meta\.resolve)$/.test(callee.getText());
}

function isCreateRequire(node: ts.Node | undefined): boolean {
  return node !== undefined && ts.isCallExpression(node) && node.expression.getText() === 'createRequire';
}

/** One circle in the graph as the files along it, the first one repeated at the end; undefined when there is none. */
export function findCircle(graph: ReadonlyMap<string, ReadonlySet<string>>): string[] | undefined {
  const done = new Set<string>();
  const path: string[] = [];
  const walk = (file: string): string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    path.push(file);
    for (const next of graph.get(file) ?? []) {
      const circle = walk(next);
      if (circle) return circle;
    }
    path.pop();
    done.add(file);
    return undefined;
  };
  for (const file of graph.keys()) {
    const circle = walk(file);
    if (circle) return circle;
  }
  return undefined;
}
