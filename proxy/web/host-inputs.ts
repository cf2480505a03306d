import { z, type ZodType } from 'zod'
import { SessionId } from '#manager/contract'
import { type HostApi } from '#proxy/contract'
import { KeyFormat, TunnelId, TunnelSpec } from '#proxy/contract'
import { HostSettingsSchema } from '../settings.ts'

type InputOf<F> = F extends (...args: infer A) => unknown ? ZodType<A> : never
/** One schema per method for its arguments; a missing one does not compile. */
type HostInputs = { readonly [G in keyof HostApi]: { readonly [M in keyof HostApi[G]]: InputOf<HostApi[G][M]> } }

const none = z.tuple([])
const size = { cols: z.int().min(1).max(1000), rows: z.int().min(1).max(1000) }

export const HOST_INPUTS = {
  host: {
    info: none,
    settings: none,
    saveSettings: z.tuple([HostSettingsSchema]),
    openExternal: z.tuple([z.string().max(2048)]),
    endpoint: none,
    setEndpoint: z.tuple([
      z.discriminatedUnion('kind', [
        z.strictObject({ kind: z.literal('embedded') }),
        z.strictObject({ kind: z.literal('remote'), url: z.url() }),
      ]),
    ]),
  },
  tunnel: {
    open: z.tuple([TunnelSpec]),
    openApp: z.tuple([TunnelSpec]),
    list: none,
    close: z.tuple([TunnelId]),
  },
  ssh: {
    connect: z.tuple([TunnelSpec]),
    keyFile: z.tuple([SessionId, KeyFormat]),
  },
  terminal: {
    open: z.tuple([z.strictObject({ sessionId: SessionId, name: z.string().max(32), ...size })]),
    write: z.tuple([z.string(), z.instanceof(Uint8Array)]),
    resize: z.tuple([z.string(), z.strictObject(size)]),
    close: z.tuple([z.string()]),
  },
} satisfies HostInputs
