import { compareEntries, isSameMode, type SyncNode, type SyncRules } from './sync-plan.ts'
import { type SyncSide } from './sync-sides.ts'

/** A file or directory that differs. */
export interface Difference {
  readonly step: 'send' | 'mode' | 'make' | 'delete' | 'in the way' | 'skip' | 'same'
  /** Names below the top of the source. */
  readonly parts: readonly string[]
  /** Names below the top of the target, where a name may have another Unicode form. */
  readonly targetParts: readonly string[]
  readonly node: SyncNode
}

export interface SyncTrees {
  readonly source: SyncSide
  readonly target: SyncSide
  readonly rules: SyncRules
  readonly signal: AbortSignal
}

/** Directory on both sides. */
interface Place {
  readonly parts: readonly string[]
  readonly targetParts: readonly string[]
  /** The target has no such directory yet. */
  readonly isNew: boolean
}

/**
 * Compares two trees, one directory after the other: memory holds only the entries of the directories on the current path. A directory
 * comes before its entries, and something in the way of a file or directory before it.
 */
export async function* differences(
  trees: SyncTrees,
  place: Place = { parts: [], targetParts: [], isNew: false },
): AsyncGenerator<Difference, void, undefined> {
  const { source, target, rules, signal } = trees
  signal.throwIfAborted()
  const [from, to] = await Promise.all([
    source.list(place.parts),
    place.isNew ? new Map<string, SyncNode>() : target.list(place.targetParts),
  ])
  const steps = compareEntries(from, to, rules)
  const equal = await sameBytes(
    trees,
    place,
    [...steps].flatMap(([name, { step, there }]) => (step === 'compare' ? [[name, there] as const] : [])),
  )
  for (const [name, { step, there }] of steps) {
    const below = { parts: [...place.parts, name], targetParts: [...place.targetParts, there] }
    const node = from.get(name) ?? to.get(there)
    if (!node) continue
    if (step === 'compare') {
      const isSame = isSameMode(node, to.get(there) ?? node)
      yield { step: equal.has(name) ? (isSame ? 'same' : 'mode') : 'send', ...below, node }
    } else if (step === 'in the way' && rules.delete) {
      yield { step: 'delete', ...below, node: to.get(there) ?? node }
      yield { step: node.kind === 'file' ? 'send' : 'make', ...below, node }
      if (node.kind === 'directory') yield* differences(trees, { ...below, isNew: true })
    } else {
      if (step !== 'enter') yield { step, ...below, node }
      if (step === 'make' || step === 'enter') yield* differences(trees, { ...below, isNew: step === 'make' })
    }
  }
}

/** @returns the names at the source of those whose bytes are the same */
async function sameBytes(
  { source, target }: SyncTrees,
  { parts, targetParts }: Place,
  names: readonly (readonly [string, string])[],
): Promise<Set<string>> {
  if (names.length === 0) return new Set()
  const [here, there] = await Promise.all([
    source.checksums(names.map(([name]) => [...parts, name])),
    target.checksums(names.map(([, name]) => [...targetParts, name])),
  ])
  return new Set(names.flatMap(([name], index) => (here[index] !== null && here[index] === there[index] ? [name] : [])))
}
