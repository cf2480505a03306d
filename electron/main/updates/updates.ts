import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Fetch } from '#proxy/network'
import { checkForUpdate, stageFile, type UpdateFile, type UpdateSource } from '#proxy/updates'
import { whyOf } from '#manager/contract'
import { type SettingsFile } from '../settings/settings-file.ts'
import { type Questions } from '../questions/questions.ts'
import { type Language, wordsOf } from '../questions/words.ts'

export interface UpdatesDeps {
  /** Undefined: this app looks for no updates. */
  readonly source: UpdateSource | undefined
  /** Version of this app. */
  readonly version: string
  readonly platform: { readonly os: string; readonly arch: string; readonly kinds: readonly UpdateFile['kind'][] }
  /** Folder of the downloads, with a subfolder per version. */
  readonly folder: string
  readonly settings: SettingsFile
  readonly fetch: Fetch
  readonly questions: Pick<Questions, 'ask' | 'raise'>
  /** Shows a file in the file manager. */
  readonly showFile: (path: string) => void
  readonly language: () => Language
  readonly log: { warn(detail: object, message: string): void }
  readonly now?: () => Date
}

export interface Updates extends Disposable {
  readonly isOn: boolean
  /** Checks now, and also reports that there is no update. Never rejects. */
  check(): Promise<void>
  /** Checks a minute after the start and then once a day, and reports only updates. */
  begin(): void
}

const FIRST_MS = 60_000
const AGAIN_MS = 24 * 3_600_000

/**
 * New versions of the app: found in a signed list, downloaded and checked, and shown to the user, who installs them with the means of the
 * system. The app does not install updates itself: system packages need an administrator, and a downloaded file waits for the user.
 *
 * Threat model: see `proxy/updates/manifest.ts`. The serial of the newest list and the fingerprint of its key are kept, so that a replayed
 * old list, and a list signed by a replaced key, are refused; the request sends no data.
 */
export function createUpdates(deps: UpdatesDeps): Updates {
  const { source, settings, questions, language, log, now = () => new Date() } = deps
  const stop = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  /** True if a person waits for the answer, even if the app itself began the check. */
  let isAsked = false

  async function findNewer(from: UpdateSource): Promise<{ version: string; path: string } | undefined> {
    const { updateSerial: serial, updateKey } = settings.current
    const seen = { version: deps.version, serial, key: updateKey ?? undefined, now: now() }
    const { manifest, key, isNewer } = await checkForUpdate(from, seen, deps.fetch)
    if (manifest.serial > serial || key.pinned !== updateKey?.pinned || key.current !== updateKey.current)
      await settings.update({ updateSerial: manifest.serial, updateKey: key })
    const { os, arch, kinds } = deps.platform
    const file = kinds
      .flatMap(kind => manifest.files.filter(one => one.kind === kind && one.platform === os && one.arch === arch))
      .at(0)
    if (!isNewer || !file) return undefined
    const folder = `${deps.folder}/${manifest.version}`
    const path = await stageFile({ file, listUrl: from.url, folder, fetch: deps.fetch, signal: stop.signal })
    await removeOthers(manifest.version).catch((error: unknown) =>
      log.warn({ err: error }, 'older downloads of updates stay'),
    )
    return { version: manifest.version, path }
  }

  /** Removes other versions, which a newer one has replaced. */
  async function removeOthers(version: string): Promise<void> {
    const others = (await readdir(deps.folder)).filter(name => name !== version)
    await Promise.all(others.map(name => rm(join(deps.folder, name), { recursive: true, force: true })))
  }

  async function tell(): Promise<void> {
    if (!source) return
    const words = wordsOf(language())
    try {
      const found = await findNewer(source)
      if (found) {
        const { response } = await questions.ask({
          type: 'info',
          title: 'Berth',
          message: words.updateReady(found.version),
          detail: words.installUpdate(found.path),
          buttons: [words.showFile, words.later],
          defaultId: 0,
          cancelId: 1,
          noLink: true,
        })
        if (response === 0) deps.showFile(found.path)
      } else if (isAsked) await questions.ask({ type: 'info', title: 'Berth', message: words.upToDate(deps.version) })
    } catch (error) {
      log.warn({ err: error }, 'updates could not be looked for')
      if (!isAsked) return
      const why = whyOf(error) ?? words.updateFailed
      await questions.ask({ type: 'warning', title: 'Berth', message: words.updateFailed, detail: why })
    }
  }

  function check(asks: boolean): Promise<void> {
    isAsked ||= asks
    running ??= tell().finally(() => {
      running = undefined
      isAsked = false
    })
    return running
  }
  function later(ms: number) {
    timer = setTimeout(() => void check(false).then(() => later(AGAIN_MS)), ms)
    timer.unref()
  }
  return {
    isOn: source !== undefined,
    check() {
      questions.raise()
      return check(true)
    },
    begin() {
      if (source) later(FIRST_MS)
    },
    [Symbol.dispose]() {
      clearTimeout(timer)
      stop.abort()
    },
  }
}
