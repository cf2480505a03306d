import { z } from 'zod'
import { SessionId } from '#manager/contract'
import { KeyFormat, TunnelId, TunnelSpec } from '#proxy/contract'
import { EndpointChoiceSchema } from '../settings/settings-file.ts'
import { type HostInputs } from './serve-host-api.ts'

const NOTHING = z.tuple([])
const spec = z.tuple([TunnelSpec])
const size = { cols: z.int().min(1).max(1000), rows: z.int().min(1).max(1000) }
const Settings = z.strictObject({
  preferredSshPort: z.int().min(1024).max(65_535).nullable(),
  manageSshConfig: z.boolean(),
})
const TerminalId = z.string().max(64)

/** Schemas of the arguments of each bridge method. */
export const HOST_INPUTS: HostInputs = {
  host: {
    info: NOTHING,
    settings: NOTHING,
    saveSettings: z.tuple([Settings]),
    openExternal: z.tuple([z.string().max(8192)]),
    endpoint: NOTHING,
    setEndpoint: z.tuple([EndpointChoiceSchema]),
  },
  tunnel: { open: spec, openApp: spec, list: NOTHING, close: z.tuple([TunnelId]) },
  ssh: { connect: spec, keyFile: z.tuple([SessionId, KeyFormat]) },
  terminal: {
    open: z.tuple([
      z.strictObject({ sessionId: SessionId, name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/), ...size }),
    ]),
    write: z.tuple([
      TerminalId,
      z.instanceof(Uint8Array).refine(data => data.byteLength <= 1_048_576, 'at most 1 MiB'),
    ]),
    resize: z.tuple([TerminalId, z.strictObject(size)]),
    close: z.tuple([TerminalId]),
  },
}
