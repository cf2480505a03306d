import { type ContentsSlice, type ElectronSlice } from '../electron-slice.ts'
import { type Ask } from '../questions/questions.ts'
import { type Language, wordsOf } from '../questions/words.ts'

export interface ReviveDeps {
  readonly electron: { readonly app: Pick<ElectronSlice['app'], 'quit'> }
  readonly ask: Ask
  readonly language: () => Language
  readonly log: { error(detail: object, message: string): void }
  readonly now?: () => number
}

/** A page that crashes more often than this within `SOON_MS` is not loaded again without asking: it would crash for ever. */
const CRASHES = 2
const SOON_MS = 60_000

/**
 * Loads a page again when its process is gone (a fault, or killed for lack of memory): the window would stay blank. Tunnels live
 * in the main process and are not concerned.
 */
export function reviveAfterCrash(
  contents: ContentsSlice,
  { electron, ask, language, log, now = () => performance.now() }: ReviveDeps,
): void {
  let crashes: number[] = []
  contents.on('render-process-gone', (_event, { reason }) => {
    if (reason === 'clean-exit') return
    log.error({ reason, page: contents.id }, 'a page has crashed')
    crashes = [...crashes.filter(at => now() - at < SOON_MS), now()]
    if (crashes.length <= CRASHES) reload()
    else void offer()
  })

  function reload(): void {
    if (!contents.isDestroyed()) contents.reload()
  }

  async function offer(): Promise<void> {
    crashes = []
    const words = wordsOf(language())
    const { response } = await ask({
      type: 'error',
      title: 'Berth',
      message: words.pageCrashed,
      detail: words.pageCrashedDetail,
      buttons: [words.loadAgain, words.quit],
      defaultId: 0,
      cancelId: 0,
      noLink: true,
    })
    if (response === 1) electron.app.quit()
    else reload()
  }
}
