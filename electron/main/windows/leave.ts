import { setTimeout as delay } from 'node:timers/promises'
import { type ElectronSlice } from '../electron-slice.ts'
import { askBeforeQuit, type PageWork, type Running } from './ask-before-quit.ts'
import { type Questions } from '../questions/questions.ts'
import { type ConsoleWindows } from './console-windows.ts'
import { type Language } from '../questions/words.ts'

export interface LeaveDeps {
  readonly electron: Pick<ElectronSlice, 'app'>
  readonly questions: Pick<Questions, 'ask' | 'raise'>
  readonly language: () => Language
  readonly windows: Pick<ConsoleWindows, 'show' | 'hide'>
  /** Work that the connection keeps running; nothing if there is no connection. */
  readonly running: () => Promise<Running>
  /** Uploads and edits of the pages. */
  readonly pageWork: () => PageWork
  /** Cleans up before the process ends. */
  readonly end: () => Promise<void>
  readonly onUnexpected: (where: string, error: unknown) => void
  readonly answerWithinMs?: number
}

export interface Leave {
  /** Asks if something would be lost, and then quits, stays, or continues in the background. */
  ask(): Promise<void>
  /** Quits; asks only about uploads and edits, because the user has just said that everything else may stop. */
  stopAndQuit(): Promise<void>
  /** Quits without a question, even while one is open: nobody is there to answer. */
  end(): Promise<void>
  readonly isEnding: boolean
}

/** Time limit for the connection to report its running work; the app quits even without an answer. */
const ANSWER_WITHIN_MS = 3_000
const NOTHING: Running = { tunnels: 0, connections: 0, stack: false }

/** Ends the app. If something fails, the next request to quit is handled again. */
export function createLeave(deps: LeaveDeps): Leave {
  const { electron, questions, language, windows, onUnexpected, answerWithinMs = ANSWER_WITHIN_MS } = deps
  let isAsking = false
  let isStopping = false

  async function running(): Promise<Running> {
    const late = new AbortController()
    try {
      return await Promise.race([
        deps.running(),
        delay(answerWithinMs, NOTHING, { signal: late.signal, ref: false }).catch(() => NOTHING),
      ])
    } catch (error) {
      onUnexpected('quit', error)
      return NOTHING
    } finally {
      late.abort()
    }
  }

  async function stop(): Promise<void> {
    if (isStopping) return
    isStopping = true
    try {
      await deps.end()
    } catch (error) {
      onUnexpected('stop', error)
    }
    electron.app.exit(0)
  }

  async function decide(find: () => Promise<Running>): Promise<void> {
    if (isStopping) return
    if (isAsking) {
      questions.raise()
      return
    }
    isAsking = true
    try {
      const answer = await askBeforeQuit(questions.ask, { ...(await find()), ...deps.pageWork() }, language())
      if (answer === 'stop') await stop()
      else if (answer === 'cancel') windows.show()
      else windows.hide()
    } catch (error) {
      onUnexpected('quit', error)
    } finally {
      isAsking = false
    }
  }

  return {
    ask: () => decide(running),
    stopAndQuit: () => decide(() => Promise.resolve(NOTHING)),
    end: stop,
    get isEnding() {
      return isStopping
    },
  }
}
