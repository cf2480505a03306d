import { readdirSync, readFileSync } from 'node:fs'

/** Processor time in seconds. */
export interface ProcessorTime {
  readonly user: number
  readonly system: number
}

/** A line of the process table. */
export interface ProcessRow {
  readonly pid: number
  readonly parent: number
  /** Process id of the leader of its session. */
  readonly session: number
  /** Start of the process in ticks since the start of the machine; tells two processes with one id apart. */
  readonly started: number
  readonly own: ProcessorTime
  /** Time of ended children that the process has waited for, including the children that those had waited for. */
  readonly waited: ProcessorTime
}

/** Linux tells times of processes in hundredths of a second on every platform. */
const TICKS_PER_SECOND = 100

/** Process ids of this machine; none on a system without `/proc`. */
export function listProcesses(): number[] {
  try {
    return readdirSync('/proc')
      .filter(name => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return []
  }
}

/** Reading costs a thirtieth of a millisecond for each process. */
export const readProcesses = (pids: readonly number[]): ProcessRow[] =>
  pids.flatMap(pid => rowOf(`/proc/${pid}/stat`) ?? [])

function rowOf(path: string): ProcessRow | undefined {
  try {
    return parseStat(readFileSync(path, 'latin1'))
  } catch {
    // The process has ended since its name was read.
    return undefined
  }
}

/** @param text as proc_pid_stat(5) describes it; the second field is a name in parentheses that may contain anything */
export function parseStat(text: string): ProcessRow {
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const seconds = (index: number) => (fields[index] ?? 0) / TICKS_PER_SECOND
  return {
    pid: Number.parseInt(text, 10),
    parent: fields[1] ?? 0,
    session: fields[3] ?? 0,
    started: fields[19] ?? 0,
    own: { user: seconds(11), system: seconds(12) },
    waited: { user: seconds(13), system: seconds(14) },
  }
}
