import { type Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { type Grant, GRANT_HEADER } from '#manager/contract'
import { type TunnelOutcome } from '#manager/tunnel-end'
import { dialTunnel } from '../dial/dial.ts'
import { type KeptWires } from '../dial/kept-wires.ts'
import { pipeTunnel } from '../dial/pipe.ts'
import { TunnelStream } from './tunnel-stream.ts'

/** Transport of bytes to an app; tests replace it by a loopback. */
export interface Transport {
  /** @throws AppError from the manager, or a plain network error */
  dial(grant: Grant, signal: AbortSignal): Promise<Socket>
  /** Joins a TCP client and a dialled tunnel until both are closed; `kept` takes over the wire after an orderly end. */
  pipe(client: Socket, wire: Socket, kept: KeptWires): Promise<Pick<TunnelOutcome, 'reason'>>
  /** A dialled tunnel as a plain byte stream. */
  stream(wire: Socket): Duplex
}

/** The production transport: a WebSocket to the manager for every connection. */
export function createTransport(managerUrl: string): Transport {
  return {
    dial: ({ grant, sessionId, app }, signal) =>
      dialTunnel({
        managerUrl,
        sessionId,
        app: app.name,
        headers: { [GRANT_HEADER]: grant },
        lasting: app.protocol === 'tcp',
        signal,
      }),
    pipe: pipeTunnel,
    stream: wire => new TunnelStream(wire),
  }
}
