import { type ElectronSlice } from '../electron-slice.ts'
import { type Ask } from '../questions/questions.ts'
import { type SettingsFile } from '../settings/settings-file.ts'
import { type Language, wordsOf } from '../questions/words.ts'

export interface GraphicsDeps {
  readonly electron: { readonly app: Pick<ElectronSlice['app'], 'on'> }
  readonly ask: Ask
  readonly settings: Pick<SettingsFile, 'current' | 'update'>
  readonly language: () => Language
  readonly log: { error(detail: object, message: string): void }
  readonly now?: () => number
}

const CRASHES = 3
const SOON_MS = 10 * 60_000

/**
 * Logs Chromium processes that end. If the graphics process keeps crashing, e.g. for a faulty driver, offers to switch off graphics
 * acceleration.
 */
export function watchGraphics(deps: GraphicsDeps): void {
  const { electron, ask, settings, language, log, now = () => performance.now() } = deps
  let crashes: number[] = []

  async function offer(): Promise<void> {
    const words = wordsOf(language())
    const { response } = await ask({
      type: 'warning',
      title: 'Berth',
      message: words.graphicsCrashed,
      detail: words.graphicsCrashedDetail,
      buttons: [words.withoutGraphics, words.cancel],
      defaultId: 0,
      cancelId: 1,
      noLink: true,
    })
    if (response === 0) await settings.update({ graphicsAcceleration: false })
  }

  electron.app.on('child-process-gone', (_event, { type, reason, exitCode }) => {
    if (reason === 'clean-exit' || reason === 'killed') return
    log.error({ type, reason, exitCode }, 'a process of Chromium has ended')
    if (type !== 'GPU' || !settings.current.graphicsAcceleration) return
    crashes = [...crashes.filter(at => now() - at < SOON_MS), now()]
    if (crashes.length < CRASHES) return
    crashes = []
    offer().catch((error: unknown) => log.error({ err: error }, 'graphics acceleration stays on'))
  })
}
