import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { type EndpointChoice } from '#proxy/contract'
import { PIN } from '#proxy/network'
import { parseJson } from '#base/parse-json'
import { AppError } from '#manager/contract'

export const ENDPOINT_RULE = 'must be an https:// address, or http:// on this computer'

export const EndpointChoiceSchema: z.ZodType<EndpointChoice> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('embedded') }),
  z.strictObject({ kind: z.literal('remote'), url: z.string().max(2048).refine(isEndpointUrl, ENDPOINT_RULE) }),
])

const Bounds = z.object({ x: z.int(), y: z.int(), width: z.int().min(1), height: z.int().min(1) })
export type Bounds = z.infer<typeof Bounds>

const Settings = z.object({
  /** Null before the first choice. */
  endpoint: EndpointChoiceSchema.nullable().default(null),
  /** Origins of servers that were connected to, the latest first. */
  servers: z.array(z.string().max(2048).refine(isEndpointUrl, ENDPOINT_RULE)).max(50).default([]),
  language: z.enum(['en', 'ko']).nullable().default(null),
  /** Theme of the page, for windows that are shown before the page is. */
  theme: z.enum(['system', 'light', 'dark']).default('system'),
  /** Pins of servers that the user trusts although no authority vouches for their certificates, by origin. */
  certificates: z.record(z.string().max(2048), z.string().regex(PIN)).default({}),
  /** Hosts whose links open without a question, the latest first. */
  linkHosts: z.array(z.string().max(300)).max(200).default([]),
  /** Serial of the newest list of updates that was seen. */
  updateSerial: z.int().min(0).default(0),
  /** Fingerprints of the update key that this package pins, and of the key that signed the newest list. Used for comparison only. */
  updateKey: z.object({ pinned: z.string(), current: z.string() }).nullable().default(null),
  keepInBackground: z.boolean().default(false),
  checkSpelling: z.boolean().default(false),
  graphicsAcceleration: z.boolean().default(true),
  crashReports: z.boolean().default(false),
  /** PEM file of more certificate authorities. */
  caFile: z.string().max(4096).nullable().default(null),
  /** Size of windows that a page opens. */
  pageWindow: z
    .object({ width: z.int().min(1), height: z.int().min(1) })
    .nullable()
    .default(null),
  /** Keys of warnings that the user has closed. */
  closedWarnings: z.array(z.string().max(300)).max(50).default([]),
  window: z
    .object({ bounds: Bounds, isMaximized: z.boolean(), zoomLevel: z.number().min(-10).max(10) })
    .nullable()
    .default(null),
})
export type DesktopSettings = z.infer<typeof Settings>

/** Whether the address is acceptable: a bearer token is sent there, so http is allowed only on this computer. */
export function isEndpointUrl(text: string): boolean {
  const url = URL.parse(text)
  if (!url || url.username !== '' || url.password !== '') return false
  if (url.protocol === 'https:') return true
  return url.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname)
}

export interface SettingsFile {
  readonly current: DesktopSettings
  update(change: Partial<DesktopSettings>): Promise<DesktopSettings>
  /** Resolves when every change has been written, or has failed. */
  saved(): Promise<void>
}

/** Settings of the desktop app itself, in one JSON file that is replaced atomically. It holds no secrets. */
export async function openSettingsFile(file: string): Promise<SettingsFile> {
  let current = await read(file)
  let writing: Promise<unknown> = Promise.resolve()
  return {
    get current() {
      return current
    },
    update(change) {
      current = { ...current, ...change }
      const text = JSON.stringify(current, null, 2) + '\n'
      writing = writing
        .catch(() => undefined)
        .then(async () => {
          await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
          const temporary = `${file}.new`
          await writeFile(temporary, text, { mode: 0o600 })
          await rename(temporary, file)
        })
      return writing.then(() => current)
    },
    saved: () =>
      writing.then(
        () => undefined,
        () => undefined,
      ),
  }
}

async function read(file: string): Promise<DesktopSettings> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '{}'
    throw error
  })
  const parsed = Settings.safeParse(parseJson(text))
  if (!parsed.success) throw new AppError('config_invalid', { file, why: `${file}: ${z.prettifyError(parsed.error)}` })
  return parsed.data
}
