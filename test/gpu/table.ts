import { appendFileSync, writeFileSync } from 'node:fs'

export type Outcome = 'ok' | 'FAIL' | 'skipped'

export interface Row {
  readonly what: string
  readonly expected: string
  readonly seen: string
  readonly ms: number
  readonly outcome: Outcome
}

/** Result of a look: what it saw, and whether that was expected. */
export interface Seen {
  readonly ok: boolean
  readonly seen: string
}

export const saw = (ok: boolean, seen: string): Seen => ({ ok, seen })

/** Thrown by a look for which this machine has no means. */
export class Skipped extends Error {}

/** Rows of the check, one after the other; a look that fails, throws or takes too long fails its own row only. */
export interface Table {
  readonly rows: readonly Row[]
  /** @param look gets the signal that ends it after `withinS`, and with the whole check */
  row(what: string, expected: string, withinS: number, look: (signal: AbortSignal) => Promise<Seen>): Promise<boolean>
  /** Writes lines into the log of everything that was seen. */
  log(text: string): void
}

/** @param logFile gets every command and its output; undefined: nothing is kept */
export function createTable(whole: AbortSignal, logFile: string | undefined): Table {
  const rows: Row[] = []
  if (logFile !== undefined) writeFileSync(logFile, '')
  const log = (text: string) => {
    if (logFile !== undefined) appendFileSync(logFile, `${text}\n`)
  }
  return {
    rows,
    log,
    async row(what, expected, withinS, look) {
      log(`\n# ${what}`)
      const begun = performance.now()
      const signal = AbortSignal.any([whole, AbortSignal.timeout(withinS * 1000)])
      const { outcome, seen } = await judge(look, signal)
      const ms = Math.round(performance.now() - begun)
      const row = { what, expected, seen: oneLine(seen), ms, outcome }
      rows.push(row)
      log(`${outcome}: ${seen}`)
      process.stdout.write(`${outcome.padEnd(7)} ${`${ms}`.padStart(6)} ms  ${what}: ${row.seen}\n`)
      return outcome === 'ok'
    },
  }
}

async function judge(
  look: (signal: AbortSignal) => Promise<Seen>,
  signal: AbortSignal,
): Promise<{ outcome: Outcome; seen: string }> {
  const late = new Promise<never>((_, fail) => {
    signal.addEventListener('abort', () => fail(new Error('no answer in time')))
  })
  try {
    signal.throwIfAborted()
    const { ok, seen } = await Promise.race([look(signal), late])
    return { outcome: ok ? 'ok' : 'FAIL', seen }
  } catch (error) {
    if (error instanceof Skipped) return { outcome: 'skipped', seen: error.message }
    return { outcome: 'FAIL', seen: signal.aborted ? 'no answer in time' : messageOf(error) }
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const WIDTH = 160
function oneLine(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length > WIDTH ? `${line.slice(0, WIDTH)}…` : line
}

/** @param facts name and value of what the machine is */
export function markdown(facts: readonly (readonly [string, string])[], rows: readonly Row[]): string {
  const cell = (text: string) => text.replace(/\|/g, '\\|')
  return [
    '# Check of GPUs',
    '',
    ...facts.map(([name, value]) => `- ${name}: ${value}`),
    '',
    '| what | expected | seen | ms | |',
    '|---|---|---|---|---|',
    ...rows.map(
      ({ what, expected, seen, ms, outcome }) =>
        `| ${cell(what)} | ${cell(expected)} | ${cell(seen)} | ${ms} | ${outcome} |`,
    ),
    '',
  ].join('\n')
}

/** Looks again until the result is as expected, or the time of the row is over: its last result is then the row's. */
export async function until(look: () => Promise<Seen>, signal: AbortSignal, withinS: number): Promise<Seen> {
  const deadline = performance.now() + withinS * 1000
  for (;;) {
    const result = await look()
    if (result.ok || performance.now() > deadline) return result
    signal.throwIfAborted()
    await new Promise(done => setTimeout(done, 200))
  }
}
