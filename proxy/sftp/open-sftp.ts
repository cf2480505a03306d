import { AppError, SFTP_PATH, type SignableRequest, TUNNEL_PROTOCOL } from '#manager/contract/light'
import { dialWire } from '../dial/dial.ts'
import { TunnelStream } from '../local/tunnel-stream.ts'
import type { Network } from '../network/network.ts'

export interface SftpRoute {
  readonly managerUrl: string
  /** Headers for the manager, made for each request. @throws AppError `not_signed_in` */
  readonly credentials: (request: SignableRequest) => Promise<Record<string, string>>
  /** Default: the network that the environment names (HTTPS_PROXY). */
  readonly network?: Network | undefined
}

/**
 * Opens an SFTP connection to the folders of the signed-in user, as a stream of bytes.
 *
 * @throws AppError of the manager (`not_signed_in`, `rate_limited`, …); `unavailable`; the signal's reason
 */
export async function openSftp(
  { managerUrl, credentials, network }: SftpRoute,
  signal: AbortSignal,
): Promise<TunnelStream> {
  const base = managerUrl.replace(/\/+$/, '')
  const headers = await credentials({ method: 'GET', url: `${base}${SFTP_PATH}` })
  if (Object.keys(headers).length === 0) throw new AppError('not_signed_in')
  const wire = await dialWire({
    managerUrl: base,
    path: SFTP_PATH,
    // The manager requires the page's Origin with a browser's sign-in. This proxy belongs to the page, and has both halves of the sign-in.
    headers: 'cookie' in headers ? { ...headers, origin: new URL(base).origin } : headers,
    protocols: [TUNNEL_PROTOCOL],
    signal,
    network,
  })
  return new TunnelStream(wire)
}
