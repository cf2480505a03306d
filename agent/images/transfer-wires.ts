import { type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError, because } from '#manager/contract'

/** Largest number of connections that may wait for their transfer. */
const MOST_EARLY = 8

/** Connections over which images arrive. Each is given to the transfer that it names, whichever of the two comes first. */
export interface TransferWires extends Disposable {
  /** The next connection for a transfer. @throws `unavailable` if none comes; the signal's reason */
  readonly next: (transferId: string, signal: AbortSignal) => Promise<Socket>
  /** Gives a connection to its transfer, or keeps it for a while until the transfer is requested. */
  readonly serve: (transferId: string, wire: Socket) => void
}

export interface TransferTimes {
  /** Time for a connection to come. */
  readonly wireMs: number
  /** Time for the request of a transfer whose connection is there already. */
  readonly requestMs: number
}

export function createTransferWires(times: TransferTimes): TransferWires {
  const waiting = new Map<string, (wire: Socket) => void>()
  const early = new Map<string, Socket>()

  async function next(transferId: string, signal: AbortSignal): Promise<Socket> {
    const there = early.get(transferId)
    early.delete(transferId)
    if (there && !there.destroyed) return there
    const { promise, resolve } = Promise.withResolvers<Socket>()
    waiting.set(transferId, resolve)
    const late = new AbortController()
    try {
      const wire = await Promise.race([
        promise,
        sleep(times.wireMs, undefined, { signal: AbortSignal.any([signal, late.signal]) }),
      ])
      if (!wire) throw new AppError('unavailable', because('transfer_waited'))
      return wire
    } catch (error) {
      signal.throwIfAborted()
      throw error
    } finally {
      late.abort()
      waiting.delete(transferId)
    }
  }

  function serve(transferId: string, wire: Socket): void {
    wire.on('error', () => wire.destroy())
    const give = waiting.get(transferId)
    if (give) {
      waiting.delete(transferId)
      give(wire)
      return
    }
    if (early.size >= MOST_EARLY || early.has(transferId)) {
      wire.destroy()
      return
    }
    early.set(transferId, wire)
    const timer = setTimeout(() => {
      if (early.get(transferId) !== wire) return
      early.delete(transferId)
      wire.destroy()
    }, times.requestMs)
    wire.once('close', () => {
      clearTimeout(timer)
      if (early.get(transferId) === wire) early.delete(transferId)
    })
  }

  return {
    next,
    serve,
    [Symbol.dispose]() {
      for (const wire of early.values()) wire.destroy()
    },
  }
}
