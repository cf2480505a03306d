import { type Ask } from '../questions/questions.ts'
import { type Language, wordsOf } from '../questions/words.ts'

export interface UnexpectedDeps {
  readonly process: Pick<NodeJS.EventEmitter, 'on'>
  readonly ask: Ask
  readonly showLogs: () => void
  readonly language: () => Language
  readonly log: { error(detail: object, message: string): void }
  readonly now?: () => number
}

/** At most one question an hour: a fault that repeats itself must not bury the user. */
const AGAIN_MS = 3_600_000

/**
 * Handles faults of the main process that nothing caught: they are logged, and the user is told where the log is, without Node's text. The
 * app keeps running.
 */
export function listenForUnexpected(deps: UnexpectedDeps): void {
  const { ask, showLogs, language, log, now = () => performance.now() } = deps
  let toldAt = -Infinity

  async function tell(): Promise<void> {
    if (now() - toldAt < AGAIN_MS) return
    toldAt = now()
    const words = wordsOf(language())
    const { response } = await ask({
      type: 'error',
      title: 'Berth',
      message: words.unexpected,
      detail: words.unexpectedDetail,
      buttons: [words.showLogs, words.later],
      defaultId: 0,
      cancelId: 1,
      noLink: true,
    })
    if (response === 0) showLogs()
  }

  function heard(where: string, error: unknown): void {
    log.error({ where, err: error }, 'unexpected failure')
    tell().catch((failure: unknown) => log.error({ err: failure }, 'the user could not be told'))
  }
  deps.process.on('uncaughtException', error => heard('uncaught exception', error))
  deps.process.on('unhandledRejection', error => heard('unhandled rejection', error))
}
