import { type Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { type Grant, GRANT_HEADER, isWebApp } from '#manager/contract'
import { type TunnelOutcome } from '#manager/tunnel-end'
import { dialLine, DirectLine, type Line } from '../dial/dial-line.ts'
import { type DirectPath } from '../dial/direct-path.ts'
import { type KeptWires } from '../dial/kept-wires.ts'
import { pipeDirect, pipeTunnel } from '../dial/pipe.ts'
import { type Network } from '../network/network.ts'
import { TunnelStream } from './tunnel-stream.ts'

/** Transport of bytes to an app; tests replace it by a loopback. */
export interface Transport {
  /** @throws AppError from the manager, or a plain network error */
  dial(grant: Grant, signal: AbortSignal): Promise<Line>
  /** Joins a TCP client and a dialled tunnel until both are closed; `kept` takes over the wire after an orderly end. */
  pipe(client: Socket, line: Line, kept: KeptWires): Promise<Pick<TunnelOutcome, 'reason'>>
  /** A dialled tunnel as a plain byte stream. */
  stream(line: Line): Duplex
}

/**
 * The production transport: one WebSocket to the manager per concurrent connection, which carries the app's bytes.
 *
 * @param direct if the app's container is on this computer, the bytes go there directly
 */
export function createTransport(managerUrl: string, direct?: DirectPath, network?: Network): Transport {
  return {
    dial: ({ grant, sessionId, app }, signal) => {
      const headers = { [GRANT_HEADER]: grant }
      const lasting = !isWebApp(app)
      return dialLine({ managerUrl, sessionId, app: app.name, headers, lasting, signal, network }, direct)
    },
    pipe: (client, line, kept) =>
      line instanceof DirectLine ? pipeDirect(client, line, kept) : pipeTunnel(client, line, kept),
    stream: line => (line instanceof DirectLine ? line.stream() : new TunnelStream(line)),
  }
}
