/** What to do with a file whose name exists at the destination. */
export type ConflictChoice = 'replace' | 'rename' | 'skip'

export interface ConflictQuestion {
  readonly name: string
  /** Further conflicts after this one. */
  readonly more: number
}

export interface ConflictAnswer {
  readonly choice: ConflictChoice
  /** Applies to all further conflicts. */
  readonly forAll: boolean
}

/**
 * Asks about each conflict until an answer holds for all.
 * @returns the choice for each name; null if the user cancelled everything
 */
export async function decideConflicts(
  names: readonly string[],
  ask: (question: ConflictQuestion) => Promise<ConflictAnswer | null>,
): Promise<ReadonlyMap<string, ConflictChoice> | null> {
  const choices = new Map<string, ConflictChoice>()
  let rest: ConflictChoice | undefined
  for (const [index, name] of names.entries()) {
    if (rest === undefined) {
      const answer = await ask({ name, more: names.length - index - 1 })
      if (!answer) return null
      if (answer.forAll) rest = answer.choice
      choices.set(name, answer.choice)
    } else choices.set(name, rest)
  }
  return choices
}

/** Groups by choice, so that each group is one request; skipped ones are left out. */
export function groupsOf<T>(
  items: readonly T[],
  choiceOf: (item: T) => ConflictChoice | undefined,
): { readonly onConflict: 'fail' | 'replace' | 'rename'; readonly items: readonly T[] }[] {
  const groups = { fail: [] as T[], replace: [] as T[], rename: [] as T[] }
  for (const item of items) {
    const choice = choiceOf(item)
    if (choice !== 'skip') groups[choice ?? 'fail'].push(item)
  }
  return (['fail', 'replace', 'rename'] as const)
    .map(onConflict => ({ onConflict, items: groups[onConflict] }))
    .filter(group => group.items.length > 0)
}
