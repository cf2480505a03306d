import { type WindowSlice } from '../electron-slice.ts'
import { type Questions } from '../questions/questions.ts'
import { type Language, wordsOf } from '../questions/words.ts'

export interface UnloadDeps {
  readonly questions: Pick<Questions, 'ask' | 'raise'>
  /** True while the app is ended and nobody is there to answer. */
  readonly isEnding: () => boolean
  readonly language: () => Language
  readonly onUnexpected: (where: string, error: unknown) => void
}

/**
 * Asks before a window closes or loads its page again while the page would lose uploads or edits. The page requests the question by
 * `beforeunload`, for which Electron shows no dialog: without this one, the window would just stay open.
 */
export function askBeforeUnload(
  window: WindowSlice,
  { questions, isEnding, language, onUnexpected }: UnloadDeps,
): void {
  const contents = window.webContents
  let isClosing = false
  let isAsking = false
  let mayLeave = false

  async function ask(act: 'close' | 'reload'): Promise<void> {
    if (isAsking) {
      questions.raise()
      return
    }
    isAsking = true
    try {
      const words = wordsOf(language())
      const { response } = await questions.ask({
        type: 'question',
        title: 'Berth',
        message: act === 'close' ? words.closeAnyway : words.reloadAnyway,
        detail: words.workLost,
        buttons: [words.stay, words.leave],
        defaultId: 0,
        cancelId: 0,
        noLink: true,
      })
      if (response !== 1 || window.isDestroyed()) return
      mayLeave = true
      if (act === 'close') window.close()
      else contents.reload()
    } finally {
      isAsking = false
    }
  }

  window.on('close', () => {
    isClosing = true
  })
  contents.on('will-prevent-unload', event => {
    const act = isClosing ? 'close' : 'reload'
    isClosing = false
    if (mayLeave || isEnding()) {
      mayLeave = false
      // In Electron, preventing this event overrides the page, so the window may close.
      event.preventDefault()
      return
    }
    ask(act).catch((error: unknown) => onUnexpected('unload', error))
  })
  contents.on('did-navigate', () => {
    isClosing = false
    mayLeave = false
  })
}
