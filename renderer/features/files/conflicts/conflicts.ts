import { isSameText } from '#base/normal-forms'
import { type FileConflict, firstForRequest, isAppError } from '#manager/contract'
import { nameOf } from '../../../data/files/file-path.ts'

/** Treatment of a file whose name exists at the destination. */
export type ConflictChoice = 'replace' | 'rename' | 'skip'

export interface ConflictQuestion {
  readonly name: string
  /** Number of further files, which may have conflicts too. */
  readonly more: number
}

/** A question about a conflict that waits for the user. */
export interface PendingConflict extends ConflictQuestion {
  readonly answer: (answer: ConflictAnswer | null) => void
}

export interface ConflictAnswer {
  readonly choice: ConflictChoice
  /** True if the answer applies to all further conflicts. */
  readonly forAll: boolean
}

/**
 * Moves or copies files and asks about each conflict until an answer applies to all. A request processes its files in order and stops at
 * the first conflict, so the files before it are done; or it is refused before anything is done, and the error says so.
 * @param run sends one request; `file_exists` names the file in conflict, and may have the number of files that are done
 * @returns whether all files were moved, copied or skipped; false if the user cancelled at a conflict
 */
export async function throughConflicts(
  paths: readonly string[],
  run: (paths: readonly string[], onConflict: FileConflict) => Promise<void>,
  ask: (question: ConflictQuestion) => Promise<ConflictAnswer | null>,
): Promise<boolean> {
  let rest = paths
  let always: ConflictChoice | undefined
  while (rest.length > 0) {
    const now = firstForRequest(rest)
    try {
      await run(now, always === 'replace' || always === 'rename' ? always : 'fail')
      rest = rest.slice(now.length)
    } catch (error) {
      const taken = takenName(error)
      const index = now.findIndex(path => taken !== undefined && isSameText(nameOf(path), taken))
      const path = now[index]
      if (taken === undefined || path === undefined) throw error
      const answer: ConflictAnswer | null = always
        ? { choice: always, forAll: true }
        : await ask({ name: taken, more: rest.length - index - 1 })
      if (!answer) return false
      if (answer.forAll) always = answer.choice
      if (answer.choice !== 'skip') await run([path], answer.choice)
      rest = [...now.slice(doneBefore(error) ?? index, index), ...rest.slice(index + 1)]
    }
  }
  return true
}

function doneBefore(error: unknown): number | undefined {
  const done = isAppError(error) ? error.detail.done : undefined
  return typeof done === 'number' ? done : undefined
}

/** Name that exists at the destination, if that is why the request failed. */
function takenName(error: unknown): string | undefined {
  if (!isAppError(error) || error.code !== 'file_exists') return undefined
  return typeof error.detail.name === 'string' ? nameOf(error.detail.name) : undefined
}
