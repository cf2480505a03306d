import { z, type ZodType } from 'zod'
import { FolderId, isFilePath, SessionId, TextOf, TextUpTo, WebAddress } from '#manager/contract'
import { MOST_DRAGGED_FILES } from './desktop.ts'
import { type HostApi } from './host-api.ts'
import { FolderPortSpec } from './sftp.ts'
import { KeyFormat, Program, TunnelId, TunnelSpec } from './tunnels.ts'

type InputOf<F> = F extends (...args: infer A) => unknown ? ZodType<A> : never
/** Schemas of the arguments, one per bridge method; a missing one does not compile. */
export type HostInputs = { readonly [G in keyof HostApi]: { readonly [M in keyof HostApi[G]]: InputOf<HostApi[G][M]> } }

export const HostSettingsSchema = z.strictObject({
  preferredSshPort: z.int().min(1024).max(65_535).nullable(),
  manageSshConfig: z.boolean(),
})

const NOTHING = z.tuple([])
const spec = z.tuple([TunnelSpec])
const size = { cols: z.int().min(1).max(1000), rows: z.int().min(1).max(1000) }
const TerminalId = TextUpTo(64)

/** Schemas of the arguments of each bridge method, the same for the desktop app and the web proxy. */
export const HOST_INPUTS = {
  host: {
    info: NOTHING,
    settings: NOTHING,
    saveSettings: z.tuple([HostSettingsSchema]),
    openExternal: z.tuple([TextUpTo(8192), z.enum(['berth', 'text'])]),
    endpoint: NOTHING,
    setEndpoint: z.tuple([
      z.discriminatedUnion('kind', [
        z.strictObject({ kind: z.literal('embedded') }),
        z.strictObject({ kind: z.literal('remote'), url: WebAddress(2048) }),
      ]),
    ]),
  },
  tunnel: { open: spec, openApp: spec, list: NOTHING, close: z.tuple([TunnelId]), wake: NOTHING },
  ssh: {
    connect: spec,
    keyFile: z.tuple([SessionId, KeyFormat]),
    programs: NOTHING,
    openIn: z.tuple([Program, SessionId]),
  },
  sftp: { open: z.tuple([FolderPortSpec]), state: NOTHING, close: NOTHING, keyFile: z.tuple([KeyFormat]) },
  drag: {
    fetch: z.tuple([
      z.strictObject({
        folderId: FolderId,
        paths: z.array(TextUpTo(4096).refine(isFilePath)).min(1).max(MOST_DRAGGED_FILES),
      }),
    ]),
    start: z.tuple([TextUpTo(64)]),
  },
  desktop: {
    servers: NOTHING,
    forgetServer: z.tuple([WebAddress(2048)]),
    openServer: z.tuple([WebAddress(2048)]),
    stack: NOTHING,
    showLogs: NOTHING,
    showCrashReports: NOTHING,
    chooseCaFile: NOTHING,
    language: z.tuple([z.enum(['en', 'ko'])]),
    theme: z.tuple([z.enum(['system', 'light', 'dark'])]),
    options: NOTHING,
    saveOptions: z.tuple([
      z.strictObject({
        openAtLogin: z.boolean(),
        keepInBackground: z.boolean(),
        checkSpelling: z.boolean(),
        graphicsAcceleration: z.boolean(),
        crashReports: z.boolean(),
        linkHosts: z.array(TextUpTo(300)).max(200),
        caFile: TextUpTo(4096).nullable(),
      }),
    ]),
    tryAgain: NOTHING,
    newCertificate: NOTHING,
    report: z.tuple([
      z.strictObject({
        unread: z.int().min(0).max(9_999),
        sessions: z.array(z.strictObject({ id: SessionId, name: TextUpTo(200) })).max(50),
        uploads: z.strictObject({ fraction: z.number().min(0).max(1), isPaused: z.boolean() }).nullable(),
        hasEdits: z.boolean(),
      }),
    ]),
    warnings: NOTHING,
    closeWarning: z.tuple([z.enum(['sign_in_not_kept', 'partly_isolated'])]),
    notify: z.tuple([
      z.strictObject({
        text: TextUpTo(500),
        // A route of the console, never an address.
        to: TextOf(302, /^\/[a-z][\w/?=&%.-]{0,300}$/),
      }),
    ]),
  },
  terminal: {
    open: z.tuple([
      z.strictObject({
        sessionId: SessionId,
        name: TextOf(32, /^[a-z0-9][a-z0-9-]{0,31}$/),
        kernel: TextOf(11, /^[a-z]{1,8}\d{1,3}$/).optional(),
        ...size,
      }),
    ]),
    write: z.tuple([
      TerminalId,
      z.instanceof(Uint8Array).refine(data => data.byteLength <= 1_048_576, 'at most 1 MiB'),
    ]),
    resize: z.tuple([TerminalId, z.strictObject(size)]),
    close: z.tuple([TerminalId]),
  },
} satisfies HostInputs
