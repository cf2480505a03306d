import { join } from 'node:path'
import { z } from 'zod'
import { AppError } from '#manager/contract'
import { type HostSettings, HostSettingsSchema } from '#proxy/contract'
import { readIfThere, writeFileAtomically } from './files.ts'

export const DEFAULT_SETTINGS: HostSettings = { preferredSshPort: null, manageSshConfig: true }

export interface SettingsFile {
  read(): Promise<HostSettings>
  /** @throws AppError `bad_request` */
  save(settings: HostSettings): Promise<HostSettings>
}

/** Keeps a JSON file per user; if it is missing or damaged, the defaults apply. */
export function createSettingsFile(directory: string): SettingsFile {
  const path = join(directory, 'settings.json')
  return {
    async read() {
      try {
        return HostSettingsSchema.parse(JSON.parse((await readIfThere(path)) ?? ''))
      } catch {
        return DEFAULT_SETTINGS
      }
    },
    async save(settings) {
      const parsed = HostSettingsSchema.safeParse(settings)
      if (!parsed.success) throw new AppError('bad_request', { why: z.prettifyError(parsed.error) })
      await writeFileAtomically(path, JSON.stringify(parsed.data, null, 2))
      return parsed.data
    },
  }
}
