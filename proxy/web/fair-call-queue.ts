import { type ServerResponse } from 'node:http'
import { fullest } from '#base/fullest'

export interface Caller {
  /** True if the answer needs no sign-in: anybody may request it. */
  readonly isStranger: boolean
  /** The networks that the call comes from, widest first, and then the sign-in that it names; an empty name for none. */
  readonly branch: readonly string[]
}

/** A call that came in. Neither function may throw. */
export interface EnteringCall {
  readonly response: ServerResponse
  readonly caller: Caller
  /** Forwards the call; called at once, or when a connection becomes free. */
  readonly begin: () => void
  /** Answers a call that has not begun, because it waited too long, or too many others are waiting. */
  readonly refuse: () => void
}

export interface FairCallQueue {
  enter(call: EnteringCall): void
  close(): void
}

export interface FairCallQueueOptions {
  /** Connections to the manager. */
  readonly most: number
  readonly checkEveryMs?: number
  readonly waitMs?: number
}

interface Call extends EnteringCall {
  /** Names of the branches from the root; equal names have equal parents. */
  readonly path: readonly string[]
  /** Largest number of calls on each of these branches. */
  readonly limits: readonly number[]
  /** Bytes of its connection at the last check. */
  bytes: number
  timer?: NodeJS.Timeout
}

/** Interval between two checks. A client that reads takes a part of the answer in this time, even over a slow line. */
const CHECK_EVERY_MS = 2_000
/** Longest wait for a connection. */
const WAIT_MS = 30_000
/** Limit of answers to one sign-in, or network of strangers, whose clients are behind; above it, none of them counts as read. */
const MOST_BEHIND = 64
/** Shares of all connections. One network leaves enough for the others; a sign-in gets more than any browser requests. */
const SHARES = { strangers: 1 / 2, network: 3 / 4, signIn: 1 / 4 } as const

/**
 * Shares the connections to the manager among callers. Each sign-in, each network, and all calls that need no sign-in together have a share
 * of them; calls above the share wait. A free connection goes to the caller with the fewest, so a person without any gets the next one.
 * While calls wait, answers that are not read are cut: those to strangers first, then those to the sign-ins that have most calls.
 *
 * Threat model: a call may wait for an agent or send a byte a minute, and an answer is not stored here: one person could hold every
 * connection to the manager. Without a shortage nothing is cut. A request's claim about its sender is not trusted: callers count as
 * strangers unless the manager answers the route only to people who are signed in; its refusals are too short to hold a connection. One
 * person may have any number of sign-ins, so the manager bounds the calls of a person (`manager/http/call-limiter.ts`).
 */
export function createFairCallQueue({
  most,
  checkEveryMs = CHECK_EVERY_MS,
  waitMs = WAIT_MS,
}: FairCallQueueOptions): FairCallQueue {
  const running = new Set<Call>()
  const waiting = new Set<Call>()
  /** Numbers of running calls on each branch. */
  const counts = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined

  const isFull = ({ limits }: Call, name: string, at: number) => (counts.get(name) ?? 0) >= (limits[at] ?? most)
  const mayStart = (call: Call) => !call.path.some((name, at) => isFull(call, name, at))

  function start(call: Call): void {
    running.add(call)
    for (const name of call.path) counts.set(name, (counts.get(name) ?? 0) + 1)
    call.begin()
  }

  function leave(call: Call): void {
    stopWaiting(call)
    if (!running.delete(call)) return
    for (const name of call.path) {
      const left = (counts.get(name) ?? 1) - 1
      if (left > 0) counts.set(name, left)
      else counts.delete(name)
    }
    startNext()
  }

  function stopWaiting(call: Call): void {
    waiting.delete(call)
    clearTimeout(call.timer)
  }

  function startNext(): void {
    const compare = byBranch(counts)
    for (;;) {
      let next: Call | undefined
      for (const call of waiting) if (mayStart(call) && (!next || compare(next, call) < 0)) next = call
      if (!next) return
      stopWaiting(next)
      start(next)
    }
  }

  function wait(call: Call): void {
    waiting.add(call)
    call.timer = setTimeout(() => turnAway(call), waitMs).unref()
    const [longest] = waiting.size > most ? fullest([...waiting], ({ path }) => path).slice(-1) : []
    if (longest) turnAway(longest)
    timer ??= setInterval(check, checkEveryMs).unref()
  }

  function turnAway(call: Call): void {
    stopWaiting(call)
    call.refuse()
  }

  /** Answers whose clients are behind, and have read nothing since the last check. */
  function findStuck(): readonly Call[] {
    const behind = [...running].filter(({ response }) => response.writableNeedDrain && !response.writableEnded)
    const counted = countsOf(behind)
    return behind.filter(call => {
      const bytes = call.response.socket?.bytesWritten ?? 0
      const isSame = bytes === call.bytes
      call.bytes = bytes
      return isSame || (counted.get(call.path.at(-1) ?? '') ?? 0) > MOST_BEHIND
    })
  }

  function check(): void {
    if (waiting.size === 0) {
      clearInterval(timer)
      timer = undefined
      return
    }
    // Calls wait for the narrowest branch that is full: the end of a call elsewhere does not help them.
    const full = new Set([...waiting].map(call => call.path.findLast((name, at) => isFull(call, name, at))))
    const stuck = findStuck()
      .filter(({ path }) => path.some(name => full.has(name)))
      .toSorted(byBranch(countsOf([...running, ...waiting])))
    const strangers = stuck.filter(({ caller }) => caller.isStranger)
    const people = stuck.filter(({ caller }) => !caller.isStranger)
    // Cuts at most half of the signed-in calls: callers with few calls keep theirs.
    const leaving = [...strangers, ...people.slice(0, Math.floor(people.length / 2))]
    for (const call of leaving.slice(0, waiting.size)) call.response.destroy()
  }

  return {
    enter(entering) {
      const { response, caller } = entering
      if (response.destroyed) return
      const call: Call = { ...entering, path: pathOf(caller), limits: limitsOf(caller, most), bytes: 0 }
      response.once('close', () => leave(call))
      if (mayStart(call)) start(call)
      else wait(call)
    },
    close() {
      clearInterval(timer)
      for (const call of waiting) stopWaiting(call)
    },
  }
}

function pathOf({ isStranger, branch }: Caller): readonly string[] {
  const names = ['all', isStranger ? 'strangers' : 'people', ...branch]
  return names.map((_, at) => names.slice(0, at + 1).join(' '))
}

function limitsOf({ isStranger, branch }: Caller, most: number): readonly number[] {
  const part = (share: number) => Math.ceil(most * share)
  const networks = branch.slice(1).map(() => part(SHARES.network))
  return [most, isStranger ? part(SHARES.strangers) : most, ...networks, part(SHARES.signIn)]
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
