import { type ContentsSlice } from '../electron-slice.ts'
import { type Ask } from '../questions/questions.ts'
import { type Language, wordsOf } from '../questions/words.ts'

export interface UnresponsiveDeps {
  readonly ask: Ask
  readonly language: () => Language
  readonly log: { error(detail: object, message: string): void }
}

/** Asks what to do about a page that does not answer; the dialog closes when the page answers again. */
export function askUnresponsive(contents: ContentsSlice, { ask, language, log }: UnresponsiveDeps): void {
  let question: AbortController | undefined

  async function askOnce(): Promise<void> {
    if (question) return
    const { signal } = (question = new AbortController())
    try {
      const words = wordsOf(language())
      const { response } = await ask({
        type: 'warning',
        title: 'Berth',
        message: words.pageSilent,
        detail: words.pageSilentDetail,
        buttons: [words.wait, words.loadAgain],
        defaultId: 0,
        cancelId: 0,
        noLink: true,
        signal,
      })
      // A process that hangs cannot reload: end it, and `revive-page.ts` loads the page again.
      if (response === 1 && !signal.aborted && !contents.isDestroyed()) contents.forcefullyCrashRenderer()
    } finally {
      question = undefined
    }
  }

  contents.on('unresponsive', () => {
    log.error({ page: contents.id }, 'a page does not answer')
    askOnce().catch((error: unknown) => log.error({ err: error }, 'the user could not be asked'))
  })
  contents.on('responsive', () => question?.abort())
}
