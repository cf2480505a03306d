import { stripVTControlCharacters } from 'node:util'

/** A failed step; `hint` tells the user what to do next. */
export class StepError extends Error {
  override readonly name = 'StepError'
  readonly hint: string | undefined
  constructor(message: string, hint?: string, options?: ErrorOptions) {
    super(message, options)
    this.hint = hint
  }
}

/** The way to start without what `SessionsUnavailable` asks for. */
export const WITHOUT_SESSIONS = 'Or run `npm start -- --no-docker`: the console without sessions.'

/** Sessions need something that only the user can provide; `hint` says what. Berth can run without sessions. */
export class SessionsUnavailable extends StepError {}

/** Reports the progress of a step; only the latest text is shown. */
export type Note = (text: string) => void

export interface Progress {
  /**
   * Runs one step and shows it: its notes while it runs, and at the end a line with what `work` returned and how long it took.
   * Several steps may run at once.
   */
  step(title: string, work: (note: Note) => Promise<string>): Promise<void>
}

export interface ProgressDeps {
  readonly write: (text: string) => void
  /** In a terminal, notes replace each other on one line. Otherwise each is a line, at most one in `quietMs` per step. */
  readonly terminal: boolean
  readonly columns?: number
  readonly now?: () => number
  readonly quietMs?: number
}

export function createProgress({
  write,
  terminal,
  columns = 100,
  now = Date.now,
  quietMs = 5_000,
}: ProgressDeps): Progress {
  const running = new Map<string, { started: number; note: string; shown: number }>()

  const clear = () => {
    if (terminal) write('\r\x1b[K')
  }
  const draw = () => {
    if (!terminal || running.size === 0) return
    const parts = [...running].map(
      ([title, { started, note }]) => `${title} ${seconds(now() - started)}${note === '' ? '' : ` ${note}`}`,
    )
    write(`\r\x1b[K· ${parts.join(' │ ')}`.slice(0, columns + 4))
  }

  return {
    async step(title, work) {
      const state = { started: now(), note: '', shown: now() }
      running.set(title, state)
      // The elapsed time advances even without notes.
      const ticker = terminal ? setInterval(draw, 500) : undefined
      draw()
      try {
        const result = await work(text => {
          // Bundlers write colours even where nobody asked for them.
          state.note = stripVTControlCharacters(text).replaceAll(/\s+/g, ' ').trim()
          if (terminal) draw()
          else if (now() - state.shown >= quietMs) {
            state.shown = now()
            write(`· ${title}: ${state.note} (${seconds(now() - state.started)})\n`)
          }
        })
        const took = now() - state.started
        clear()
        write(`✓ ${title}: ${result}${took < 50 ? '' : ` (${seconds(took)})`}\n`)
      } catch (error) {
        clear()
        write(
          `✗ ${title}: ${error instanceof Error ? error.message : String(error)} (${seconds(now() - state.started)})\n`,
        )
        throw error
      } finally {
        clearInterval(ticker)
        running.delete(title)
        draw()
      }
    },
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
