import { createRequire } from 'node:module'
import { type Socket } from 'node:net'
import { type DataHeader } from '#agent/contract'
import {
  type ApplyMask,
  closePayload,
  encodeFrame,
  OPCODE,
  TUNNEL_CLOSE,
  type TunnelCloseReason,
} from '#manager/contract'
import { TICK_MS, TunnelBeats, TunnelEnd, type TunnelEndOptions, type TunnelSocket } from '#manager/tunnel-end'
import { type Commands } from '../commands/commands.ts'
import { type Log } from './data-sockets.ts'
import { createDirectWires } from './direct-wires.ts'
import { dialService, type KernelAddress, addressOf, type Reach, ServiceError, type Services } from './service.ts'
import { openTerminal } from './terminal.ts'

/** XORs in place; native where bufferutil has a binary for this platform, its own JavaScript otherwise. */
const applyMask = (createRequire(import.meta.url)('bufferutil') as { unmask: ApplyMask }).unmask

/** Headers of streams into kernels. */
type KernelStream = Extract<DataHeader, { kernelId: unknown }>

export interface StreamsDeps extends Reach {
  readonly kernels: Services
  readonly commands: Pick<Commands, 'attach'>
  /** The key of the direct path, which only the console of the same `berth up` knows too; without it none is offered. */
  readonly directKey?: string | undefined
  readonly log: Log
}

export interface Streams extends AsyncDisposable {
  /** Runs a tunnel or a terminal on a data socket until it ends; takes ownership of the socket. */
  serve(header: DataHeader, wire: Socket): void
  /**
   * Call before the address of a kernel's container may go to another container: ends its direct connections, and makes no more offers for
   * this container. Resolves when they have ended, or after a few seconds. Never rejects.
   */
  release(kernelId: string): Promise<void>
  readonly size: number
}

/** Grace period for a refused client to read its close frame. */
const REFUSE_LINGER_MS = 5_000

/** The server end of every tunnel of this agent: WebSocket on one side, a port or a terminal of a container on the other. */
export function createStreams({ kernels, commands, docker, isElsewhere, directKey, log }: StreamsDeps): Streams {
  const live = new TunnelBeats()
  const reach: Reach = { docker, isElsewhere }
  const directWires = createDirectWires({ key: directKey, live })
  const timer = setInterval(() => live.tick(), TICK_MS).unref()

  type Special = Pick<TunnelEndOptions, 'mode' | 'onText' | 'onTerminalEnd'> & {
    readonly onNext?: (end: TunnelEnd) => void
  }

  function join(wire: Socket, local: TunnelSocket, { onNext, ...rest }: Special) {
    if (wire.destroyed) {
      local.destroy()
      return
    }
    const onEnd = () => live.delete(end)
    const lasting = onNext && { lasting: { onNext: () => onNext(end) } }
    const end: TunnelEnd = new TunnelEnd({ ...rest, ...lasting, wire, local, role: 'server', applyMask, onEnd })
    live.add(end)
  }

  async function open(header: KernelStream, wire: Socket, kernel: KernelAddress) {
    if (header.kind === 'terminal') {
      const terminal = await openTerminal({ docker, kernel, header, log })
      const onTerminalEnd = (close: (reason: TunnelCloseReason) => void) => {
        // This promise never rejects.
        void terminal.endReason().then(close)
      }
      join(wire, terminal.stream, { mode: 'terminal', onText: terminal.onText, onTerminalEnd })
      return
    }
    if (header.kind === 'command') {
      join(wire, commands.attach(kernel.sessionId, header.commandId), { mode: 'tunnel' })
      return
    }
    const { app, framed, lasting = false, direct } = header
    if (
      direct !== undefined &&
      directWires.hold(wire, { nonce: direct, app, kernel, address: addressOf(kernel, app, reach) })
    )
      return
    const service = await dialService({ kernels, reach, kernel, app })
    if (!lasting) join(wire, service, { mode: framed ? 'tunnel' : 'foreign' })
    else join(wire, service, { mode: 'tunnel', onNext: end => connectNext(end, header.kernelId, app) })
  }

  /** Handles the client's next connection to the same app over the wire. */
  function connectNext(end: TunnelEnd, kernelId: string, app: string) {
    const kernel = kernels.find(kernelId)
    if (!kernel) {
      end.close('kernel_not_found')
      return
    }
    dialService({ kernels, reach, kernel, app }).then(
      service => end.attach(service),
      (error: unknown) => {
        log.debug({ kernel: kernelId, error: String(error) }, 'a next connection was refused')
        end.close(reasonOf(error))
      },
    )
  }

  return {
    serve(header, wire) {
      if (!('kernelId' in header)) {
        wire.destroy()
        return
      }
      const kernel = kernels.find(header.kernelId)
      if (!kernel) {
        refuse(wire, 'kernel_not_found')
        return
      }
      open(header, wire, kernel).catch((error: unknown) => {
        log.debug({ kernel: header.kernelId, error: String(error) }, 'a stream was refused')
        refuse(wire, reasonOf(error))
      })
    },
    async release(kernelId) {
      const kernel = kernels.find(kernelId)
      await directWires.release(kernelId, kernel?.containerId)
    },
    get size() {
      return live.size
    },
    [Symbol.asyncDispose]() {
      clearInterval(timer)
      // A reset, not an orderly end of the service: the reader must not mistake the data so far for everything.
      for (const end of [...live]) end.close('reset')
      return Promise.resolve()
    },
  }
}

function reasonOf(error: unknown): TunnelCloseReason {
  return error instanceof ServiceError ? error.reason : 'app_not_ready'
}

/** Closes a WebSocket that was never connected to anything. */
function refuse(wire: Socket, reason: TunnelCloseReason): void {
  wire.end(encodeFrame(OPCODE.close, closePayload(TUNNEL_CLOSE[reason], reason)))
  wire.resume()
  const timer = setTimeout(() => wire.destroy(), REFUSE_LINGER_MS)
  wire.on('close', () => clearTimeout(timer))
}
