import { type Duplex } from 'node:stream'
import { isAppError } from '#manager/contract'
import { type Line } from '../dial/dial-line.ts'
import { type Path } from '../grants/path.ts'
import { secureStream } from '../http-origins/app-tls.ts'
import { type Transport } from './transport.ts'

export interface AppStreamDeps {
  readonly path: Pick<Path<Line>, 'connect' | 'judge'>
  readonly transport: Pick<Transport, 'stream'>
  /** Whether the app wants TLS. Called once connected, because a grant may say it only then. */
  readonly speaksTls: () => boolean
}

/**
 * Connects to a web app. A connection that fails later tells the path why.
 *
 * @throws AppError; the error of the TLS handshake; rejects when the signal aborts
 */
export async function openAppStream(
  { path, transport, speaksTls }: AppStreamDeps,
  signal: AbortSignal,
): Promise<Duplex> {
  const stream = transport.stream(await path.connect(signal))
  stream.on('error', error => {
    if (isAppError(error)) path.judge(error)
  })
  return speaksTls() ? await secureStream(stream, signal) : stream
}
