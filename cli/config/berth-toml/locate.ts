export interface Position {
  readonly line: number
  readonly column: number
}

/**
 * Position of a key in a TOML document; the parser keeps no positions. A key inside an inline table is reported at the key of
 * that table.
 *
 * @param path of the key, outermost first
 */
export function locate(document: string, path: readonly string[]): Position {
  let best: Position & { depth: number } = { line: 1, column: 1, depth: 0 }
  let table: readonly string[] = []
  let insideText = false
  for (const [index, line] of document.split('\n').entries()) {
    const startsInside = insideText
    if ((line.match(/"""|'''/g)?.length ?? 0) % 2 === 1) insideText = !insideText
    if (startsInside) continue
    const header = /^(\s*\[\[?\s*)([^\]]+?)\s*\]/.exec(line)
    const assignment = /^(\s*)((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=/.exec(line)
    const found = header ?? assignment
    if (!found) continue
    const [, before = '', name = ''] = found
    const own = name.split('.').map(part => part.trim().replace(/^(["'])(.*)\1$/, '$2'))
    if (header) table = own
    const whole = header ? own : [...table, ...own]
    if (whole.length > path.length || whole.some((part, i) => part !== path[i])) continue
    if (whole.length > best.depth) best = { line: index + 1, column: before.length + 1, depth: whole.length }
  }
  return { line: best.line, column: best.column }
}
