import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { parseJson } from '#base/parse-json'

/** Settings that count before Electron is ready. */
const EarlySettings = z.object({
  graphicsAcceleration: z.boolean().catch(true),
  crashReports: z.boolean().catch(false),
})
export type EarlySettings = z.infer<typeof EarlySettings>

/** Reads them synchronously. A file that cannot be read counts as empty here: `openSettings` asks about it later. */
export function readEarlySettings(file: string): EarlySettings {
  let text = '{}'
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    // The file does not exist yet.
  }
  return EarlySettings.catch({ graphicsAcceleration: true, crashReports: false }).parse(parseJson(text))
}
