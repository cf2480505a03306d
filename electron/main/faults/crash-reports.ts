import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { AppError } from '#manager/contract'
import { type ElectronSlice } from '../electron-slice.ts'

const KEPT = 10

export interface CrashReports {
  /** Writes a report of each crash from now on, including pages opened later. Stops only when the app ends. */
  start(): void
  /** Opens the folder of the reports. */
  show(): Promise<void>
  /** Removes all but the newest reports. */
  tidy(): Promise<void>
}

/**
 * Reports of crashes, for the user to pass on.
 *
 * Threat model: a report contains memory of the crashed process, and so perhaps names and contents of files. So reports are off until the
 * user switches them on, they are sent nowhere, and only the user can read the folder.
 *
 * @param folder of the reports; call before Electron is ready
 */
export function createCrashReports(
  { app, crashReporter, shell }: Pick<ElectronSlice, 'app' | 'crashReporter' | 'shell'>,
  folder: string,
): CrashReports {
  let isStarted = false
  app.setPath('crashDumps', folder)
  return {
    start() {
      if (isStarted) return
      isStarted = true
      crashReporter.start({ uploadToServer: false, compress: false })
    },
    async show() {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const why = await shell.openPath(folder)
      if (why !== '') throw new AppError('unavailable', { why })
    },
    async tidy() {
      const names = await readdir(folder, { recursive: true }).catch(() => [])
      const dumps = await Promise.all(
        names
          .filter(name => name.endsWith('.dmp'))
          .map(async name => {
            const file = path.join(folder, name)
            return { file, at: (await stat(file)).mtimeMs }
          }),
      )
      const old = dumps.toSorted((a, b) => b.at - a.at).slice(KEPT)
      await Promise.all(old.map(({ file }) => rm(file, { force: true })))
    },
  }
}
