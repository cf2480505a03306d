import { type ContentsSlice, type ElectronSlice } from '../electron-slice.ts'
import { type Language, wordsOf } from '../windows/words.ts'

export interface UnresponsiveDeps {
  readonly electron: { readonly dialog: Pick<ElectronSlice['dialog'], 'showMessageBox'> }
  readonly language: () => Language
  readonly log: { error(detail: object, message: string): void }
}

/** Asks what to do about a page that does not answer; the question goes away when the page answers again. */
export function askUnresponsive(contents: ContentsSlice, { electron, language, log }: UnresponsiveDeps): void {
  let question: AbortController | undefined

  async function ask(): Promise<void> {
    if (question) return
    const { signal } = (question = new AbortController())
    try {
      const words = wordsOf(language())
      const { response } = await electron.dialog.showMessageBox({
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
      // A process that hangs reloads nothing; after its end the page is loaded again (`revive-page.ts`).
      if (response === 1 && !signal.aborted && !contents.isDestroyed()) contents.forcefullyCrashRenderer()
    } finally {
      question = undefined
    }
  }

  contents.on('unresponsive', () => {
    log.error({ page: contents.id }, 'a page does not answer')
    ask().catch((error: unknown) => log.error({ err: error }, 'the user could not be asked'))
  })
  contents.on('responsive', () => question?.abort())
}
