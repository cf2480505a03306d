import { type ServerResponse } from 'node:http'
import { fullest } from '#base/fullest'

export interface Caller {
  /** The answer needs no sign-in: everybody may have it sent. */
  readonly isStranger: boolean
  /** The networks that the call comes from, widest first, and then the sign-in that it names. */
  readonly branch: readonly string[]
}

export interface CallRoom {
  enter(response: ServerResponse, caller: Caller): void
  close(): void
}

interface Call extends Caller {
  readonly response: ServerResponse
  /** Names of the branches from the root: those with the same name have the same ones before. */
  readonly path: readonly string[]
  /** Bytes of its connection when they were looked at last. */
  bytes: number
}

/** Between two looks. Somebody who reads takes a part of the answer in this time, also by a slow line. */
const LOOK_MS = 2_000
/** Answers to one sign-in, or network of strangers, whose readers are behind: with more, none of them counts as read. */
const MOST_BEHIND = 64

/**
 * Keeps calls whose answers are not read from taking all connections to the manager. While there are more calls than connections,
 * such answers are cut: those to strangers first, then those to the sign-ins that have most calls.
 *
 * Threat model: an answer is not stored here, so a client who does not read holds a connection to the manager. Without a shortage
 * nothing is cut. What a request says about its sender is not believed: callers are strangers unless the manager answers only
 * people who are signed in, whose refusals are too short to be held.
 */
export function createCallRoom({ most, lookMs = LOOK_MS }: { most: number; lookMs?: number }): CallRoom {
  const calls = new Set<Call>()
  let timer: NodeJS.Timeout | undefined

  function cut(call: Call): void {
    calls.delete(call)
    call.response.destroy()
  }

  /** Answers whose readers are behind, and have taken nothing since the last look. */
  function findStuck(): readonly Call[] {
    const behind = [...calls].filter(({ response }) => response.writableNeedDrain && !response.writableEnded)
    const counts = countsOf(behind)
    return behind.filter(call => {
      const bytes = call.response.socket?.bytesWritten ?? 0
      const isSame = bytes === call.bytes
      call.bytes = bytes
      return isSame || (counts.get(call.path.at(-1) ?? '') ?? 0) > MOST_BEHIND
    })
  }

  function look(): void {
    const over = calls.size - most
    if (over <= 0) {
      clearInterval(timer)
      timer = undefined
      return
    }
    const stuck = findStuck().toSorted(byBranch(countsOf(calls)))
    const strangers = stuck.filter(({ isStranger }) => isStranger)
    const people = stuck.filter(({ isStranger }) => !isStranger)
    // At most half of the people's: those who have few calls keep theirs.
    const leaving = [...strangers, ...people.slice(0, Math.floor(people.length / 2))]
    for (const call of leaving.slice(0, over)) cut(call)
  }

  return {
    enter(response, caller) {
      // Calls that wait are limited as well.
      const [further] = calls.size >= 2 * most ? fullest([...calls], ({ path }) => path) : []
      if (further) cut(further)
      const names = [caller.isStranger ? 'strangers' : 'people', ...caller.branch]
      const path = names.map((_, at) => names.slice(0, at + 1).join(' '))
      const call = { ...caller, path, response, bytes: 0 }
      calls.add(call)
      response.once('close', () => calls.delete(call))
      if (calls.size > most) timer ??= setInterval(look, lookMs).unref()
    },
    close() {
      clearInterval(timer)
    },
  }
}

/** Numbers of calls on each branch. */
function countsOf(calls: Iterable<Call>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { path } of calls) for (const name of path) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** Calls of fuller branches first; of equal ones, those that came first. */
function byBranch(counts: ReadonlyMap<string, number>) {
  return (a: Call, b: Call): number => {
    for (const [at, name] of a.path.entries()) {
      const more = (counts.get(b.path[at] ?? '') ?? 0) - (counts.get(name) ?? 0)
      if (more !== 0) return more
    }
    return 0
  }
}
