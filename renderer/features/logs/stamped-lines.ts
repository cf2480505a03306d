import { logLines } from '../../data/logs/log-text.ts'

/** A line of a log with the time at which it was written. */
export interface StampedLine {
  /** Milliseconds since 1970; null if the log has no times. */
  readonly at: number | null
  readonly text: string
}

/** Time stamp as the engine writes it: `2026-11-22T21:10:00.123456789Z text`. */
const STAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z) ?/

/** Splits a log into lines with times. A line without a time belongs to the line before it. */
export function stampedLines(text: string): StampedLine[] {
  if (text === '') return []
  let at: number | null = null
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map(line => {
      const stamp = STAMP.exec(line)
      if (stamp?.[1] !== undefined) at = Date.parse(stamp[1])
      return { at, text: logLines(line.slice(stamp?.[0].length ?? 0))[0] ?? '' }
    })
}

export interface MergedLine extends StampedLine {
  /** Index of the log from which the line comes. */
  readonly log: number
}

/** Merges logs by time; lines of the same time stay in the order of the logs. Lines without times come first. */
export function mergeLines(logs: readonly (readonly StampedLine[])[]): MergedLine[] {
  const all = logs.flatMap((lines, log) => lines.map(line => ({ ...line, log })))
  return all.toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0))
}
