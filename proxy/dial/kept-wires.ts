import { type Socket } from 'node:net'
import { PING_INTERVAL_MS } from '#manager/contract'
import { type TunnelOutcome } from '#manager/tunnel-end'

/** The end of a wire, or a wire of direct connections, that has no connection at present. */
export interface KeptLine {
  /** Joins a client with the wire at once; false if the wire has ended. If missing, use `nextIfAnswered`. */
  next?(client: Socket): boolean
  /** Joins a client when the app is connected. If `answered` is called with false, nothing was read from the client. */
  nextIfAnswered(client: Socket, answered: (isConnected: boolean) => void): void
  close(reason: 'done'): void
  /** Outcome of the present connection, to be read later. */
  readonly outcomeOfThis: () => TunnelOutcome
}

export interface KeptWires extends Disposable {
  /**
   * Carries a client on a wire that an earlier connection has left, until the client's connection is closed.
   *
   * @returns undefined if there is no such wire, or the one there was does not work: nothing was read from the client
   */
  carry(client: Socket): Promise<TunnelOutcome | undefined>
  /** Keeps an idle wire. */
  keep(end: KeptLine): void
  /** Forgets a wire that is closed. */
  forget(end: KeptLine): void
  /** Closes all idle wires. */
  clear(): void
}

/** Long enough for the pauses within a burst of connections; the manager counts an idle wire as an open tunnel. */
const IDLE_MS = 10_000
const MAX_KEPT = 32
/** A wire that was idle for longer must first show that it works. */
const SURE_MS = 1_000
/** A wire whose agent does not answer within this time is given up, and the client gets a new one. */
const ANSWER_MS = 2_000

/**
 * Wires of one listener that are idle between two connections (ADR 34). A connection on such a wire costs no connection to the manager, and
 * none from the agent to the manager.
 *
 * A wire that carried bytes within the last second counts as working: if it breaks, its next connection is reset, as on a new wire. A wire
 * that was idle for longer must answer before anything is read from the client; otherwise the client gets a new wire. A direct connection
 * beside its wire (ADR 41) must always answer first: the app's answer costs next to nothing there.
 *
 * Threat model: all wires lead to one app of one session and were opened by the same grant, and the agent closes the service's connection
 * before the next one begins, so the clients of a listener share nothing but the route. The manager cuts an idle wire like any tunnel when
 * the session, the sign-in or the keypair ends.
 */
export function createKeptWires(): KeptWires {
  const kept = new Map<KeptLine, { readonly timer: NodeJS.Timeout; readonly since: number }>()
  let isClosed = false

  function drop(end: KeptLine): void {
    clearTimeout(kept.get(end)?.timer)
    kept.delete(end)
  }

  function clear(): void {
    for (const end of [...kept.keys()]) {
      drop(end)
      end.close('done')
    }
  }

  /** The wire that was used last is the least likely to be broken. */
  function take(): { readonly end: KeptLine; readonly restedMs: number } | undefined {
    const end = [...kept.keys()].at(-1)
    if (!end) return undefined
    // Timers stand still while the computer sleeps, the clock does not.
    const restedMs = Math.abs(Date.now() - (kept.get(end)?.since ?? 0))
    if (restedMs > 2 * IDLE_MS) clear()
    else drop(end)
    return restedMs > 2 * IDLE_MS ? undefined : { end, restedMs }
  }

  return {
    async carry(client) {
      const taken = client.destroyed ? undefined : take()
      if (!taken) return undefined
      const { end, restedMs } = taken
      const isJoined = restedMs <= SURE_MS && end.next ? end.next(client) : await ask(end, client)
      if (!isJoined) {
        // The other wires took the same route, so they are broken too.
        clear()
        return undefined
      }
      client.setNoDelay(true)
      client.setKeepAlive(true, PING_INTERVAL_MS)
      const outcome = end.outcomeOfThis
      if (!client.closed) await new Promise(resolve => client.once('close', resolve))
      return outcome()
    },
    keep(end) {
      if (isClosed || kept.size >= MAX_KEPT) {
        end.close('done')
        return
      }
      drop(end)
      const timer = setTimeout(() => {
        drop(end)
        end.close('done')
      }, IDLE_MS).unref()
      kept.set(end, { timer, since: Date.now() })
    },
    forget: drop,
    clear,
    [Symbol.dispose]() {
      isClosed = true
      clear()
    },
  }
}

/** Joins the client with the wire if the agent answers in time and the client stays. */
function ask(end: KeptLine, client: Socket): Promise<boolean> {
  return new Promise(resolve => {
    const giveUp = () => end.close('done')
    const timer = setTimeout(giveUp, ANSWER_MS)
    client.once('close', giveUp)
    end.nextIfAnswered(client, isConnected => {
      clearTimeout(timer)
      client.off('close', giveUp)
      resolve(isConnected)
    })
  })
}
