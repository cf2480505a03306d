import { AppError, commandStreamPath, type SignableRequest, TUNNEL_PROTOCOL } from '#manager/contract/light'
import { dialWire } from './dial/dial.ts'
import { TunnelStream } from './local/tunnel-stream.ts'

export interface CommandRoute {
  readonly managerUrl: string
  /** Headers for the manager. @throws AppError `not_signed_in` */
  readonly credentials: (request: SignableRequest) => Promise<Record<string, string>>
  readonly sessionId: string
  readonly commandId: string
}

/**
 * Opens the streams of an attached command, as one stream of frames (`manager/contract/sessions/command-stream.ts`). The command starts with it, and
 * is killed if it breaks.
 *
 * @throws AppError of the manager (`not_signed_in`, `session_not_running`, …); `unavailable`; the signal's reason
 */
export async function connectCommand(
  { managerUrl, credentials, sessionId, commandId }: CommandRoute,
  signal?: AbortSignal,
): Promise<TunnelStream> {
  const base = managerUrl.replace(/\/+$/, '')
  const path = commandStreamPath(sessionId, commandId)
  const headers = await credentials({ method: 'GET', url: `${base}${path}` })
  if (Object.keys(headers).length === 0) throw new AppError('not_signed_in')
  return new TunnelStream(await dialWire({ managerUrl: base, path, headers, protocols: [TUNNEL_PROTOCOL], signal }))
}
