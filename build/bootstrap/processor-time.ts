import { listProcesses, type ProcessorTime, type ProcessRow, readProcesses } from './process-table.ts'

/** A program with all that it started, as of one look at the process table. */
export interface Family {
  /** Members that live, by process id. */
  readonly members: ReadonlyMap<number, ProcessRow>
  /** Time that all members have used since the first look, also those that have ended. */
  readonly used: ProcessorTime
}

const NONE: ProcessorTime = { user: 0, system: 0 }
const combine = (a: ProcessorTime, b: ProcessorTime, by: (a: number, b: number) => number): ProcessorTime => ({
  user: by(a.user, b.user),
  system: by(a.system, b.system),
})
const plus = (a: ProcessorTime, b: ProcessorTime) => combine(a, b, (x, y) => x + y)
const minus = (a: ProcessorTime, b: ProcessorTime) => combine(a, b, (x, y) => x - y)
const atLeastNone = (a: ProcessorTime) => combine(a, NONE, Math.max)

/**
 * The family after another look at the process table. A process remains a member if its parent ends first. A process that nobody waits for
 * (most processes of a browser) counts with the time that it had used when last seen.
 *
 * @param before undefined at the first look: what was used until then does not count
 */
export function checkAgain(root: number, rows: readonly ProcessRow[], before: Family | undefined): Family {
  const members = membersOf(root, rows, before)
  if (before === undefined) return { members, used: NONE }
  const lost = new Map<number, ProcessorTime>()
  for (const [pid, row] of before.members) {
    if (members.has(pid)) continue
    const heir = livingAncestor(row, members, before)
    lost.set(heir, plus(lost.get(heir) ?? NONE, plus(row.own, row.waited)))
  }
  let { used } = before
  for (const [pid, row] of members) {
    const last = before.members.get(pid)
    used = plus(used, minus(row.own, last?.own ?? NONE))
    // The time of ended children, counted already while they lived, arrives here a second time.
    const arrived = minus(row.waited, last?.waited ?? NONE)
    used = plus(used, atLeastNone(minus(arrived, lost.get(pid) ?? NONE)))
  }
  return { members, used }
}

function membersOf(root: number, rows: readonly ProcessRow[], before: Family | undefined) {
  const known = (pid: number, started: number) => before?.members.get(pid)?.started === started
  const members = new Map(
    rows.filter(({ pid, started }) => pid === root || known(pid, started)).map(row => [row.pid, row]),
  )
  const isChild = ({ parent, session }: ProcessRow) =>
    members.has(parent) || before?.members.has(parent) === true || members.has(session)
  // A child usually comes after its parent, but not always: process ids wrap around.
  for (let found = true; found;) {
    found = false
    for (const row of rows) {
      if (members.has(row.pid) || !isChild(row)) continue
      members.set(row.pid, row)
      found = true
    }
  }
  return members
}

function livingAncestor({ parent }: ProcessRow, members: ReadonlyMap<number, ProcessRow>, before: Family): number {
  const row = before.members.get(parent)
  return members.has(parent) || row === undefined ? parent : livingAncestor(row, members, before)
}

export interface Meter {
  /** Since the meter began. */
  used(): ProcessorTime
  /** Process ids of the members that live now. */
  living(): number[]
  stop(): void
}

const CHECK_EVERY_MS = 1_000

/**
 * Follows a process of this machine and all that it starts; on a system without `/proc` it measures nothing.
 *
 * @param checkEveryMs between two looks. A look costs some milliseconds; a process that nobody waits for counts until its last look.
 */
export function startMeter(root: number, checkEveryMs = CHECK_EVERY_MS): Meter {
  // Tests put clocks of their own in the place of the global ones.
  const { setInterval: every, clearInterval: end } = globalThis
  let family: Family | undefined
  let strangers: ReadonlySet<number> = new Set()
  let unknown: ReadonlySet<number> = new Set()
  const check = () => {
    const pids = listProcesses()
    const seen = checkAgain(root, readProcesses(pids.filter(pid => !strangers.has(pid))), family)
    // A process that is no member at two looks never becomes one: it need not be read again. At one look its parent may be missing, because
    // the list of a busy machine is read in parts.
    const others = pids.filter(pid => !seen.members.has(pid))
    strangers = new Set(others.filter(pid => unknown.has(pid)))
    unknown = new Set(others)
    family = seen
    return seen
  }
  check()
  const timer = every(check, checkEveryMs)
  timer.unref()
  return {
    used: () => check().used,
    living: () => [...check().members.keys()],
    stop: () => end(timer),
  }
}
