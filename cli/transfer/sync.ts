import { compareEntries, isSameMode, type SyncNode, type SyncRules } from './sync-plan.ts'
import { type SyncSide } from './sync-sides.ts'

/** A file or directory that differs, with its parts below both tops. */
export interface Difference {
  readonly step: 'send' | 'mode' | 'make' | 'delete' | 'in the way' | 'skip' | 'same'
  readonly parts: readonly string[]
  readonly node: SyncNode
}

export interface SyncTrees {
  readonly source: SyncSide
  readonly target: SyncSide
  readonly rules: SyncRules
  readonly signal: AbortSignal
}

/**
 * Compares two trees, one directory after the other: memory holds the entries of the directories on the way. A directory comes
 * before its entries, and something in the way of a file or directory before it.
 */
export async function* differences(
  trees: SyncTrees,
  parts: readonly string[] = [],
  isNew = false,
): AsyncGenerator<Difference, void, undefined> {
  const { source, target, rules, signal } = trees
  signal.throwIfAborted()
  const [from, to] = await Promise.all([source.list(parts), isNew ? new Map<string, SyncNode>() : target.list(parts)])
  const steps = compareEntries(from, to, rules)
  const equal = await sameBytes(
    trees,
    parts,
    [...steps].flatMap(([name, step]) => (step === 'compare' ? [name] : [])),
  )
  for (const [name, step] of steps) {
    const below = [...parts, name]
    const node = from.get(name) ?? to.get(name)
    if (!node) continue
    if (step === 'compare') {
      const isSame = isSameMode(node, to.get(name) ?? node)
      yield { step: equal.has(name) ? (isSame ? 'same' : 'mode') : 'send', parts: below, node }
    } else if (step === 'in the way' && rules.delete) {
      yield { step: 'delete', parts: below, node: to.get(name) ?? node }
      yield { step: node.kind === 'file' ? 'send' : 'make', parts: below, node }
      if (node.kind === 'directory') yield* differences(trees, below, true)
    } else {
      if (step !== 'enter') yield { step, parts: below, node }
      if (step === 'make' || step === 'enter') yield* differences(trees, below, step === 'make')
    }
  }
}

async function sameBytes(
  { source, target }: SyncTrees,
  parts: readonly string[],
  names: readonly string[],
): Promise<Set<string>> {
  if (names.length === 0) return new Set()
  const paths = names.map(name => [...parts, name])
  const [here, there] = await Promise.all([source.checksums(paths), target.checksums(paths)])
  return new Set(names.filter((_name, index) => here[index] !== null && here[index] === there[index]))
}
