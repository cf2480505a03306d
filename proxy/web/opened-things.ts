import { type TunnelId } from '#proxy/contract'
import { type Proxy } from '../index.ts'
import { type Log } from '../log.ts'

/** A tunnel, or the port of all folders. */
export type OpenedThing = TunnelId | 'sftp'

/** Knows which sign-ins of a person have opened what in the proxy that all of them share. @typeParam S what a sign-in is asked about with */
export interface OpenedThings<S> {
  note(originSecret: string, signIn: S, thing: OpenedThing): void
  /** Sign-ins with something open, as each was noted last. */
  signIns(): S[]
  /** Closes all that this sign-in has opened, also where others use it as well: the way in is the same for all. */
  closeOf(originSecret: string): void
}

/**
 * A sign-in is known by its origin secret: what else comes with its requests, such as cookies that other ports have planted, changes
 * from one to the next.
 */
export function createOpenedThings<S>(
  starting: Promise<Pick<Proxy, 'tunnel' | 'sftp' | 'on'>>,
  log: Pick<Log, 'warn'>,
): OpenedThings<S> {
  const bySignIn = new Map<string, { signIn: S; readonly things: Set<OpenedThing> }>()

  function forget(closed: OpenedThing): void {
    for (const [originSecret, { things }] of bySignIn) {
      things.delete(closed)
      if (things.size === 0) bySignIn.delete(originSecret)
    }
  }

  starting.then(
    proxy => {
      proxy.on('tunnel:closed', ({ id }) => forget(id))
      proxy.on('sftp:changed', port => {
        if (port === null) forget('sftp')
      })
    },
    () => undefined, // whoever asked for the proxy is told
  )

  async function close(things: ReadonlySet<OpenedThing>): Promise<void> {
    const { tunnel, sftp } = await starting
    await Promise.all([...things].map(thing => (thing === 'sftp' ? sftp.close() : tunnel.close(thing))))
  }

  return {
    note(originSecret, signIn, thing) {
      const { things } = bySignIn.get(originSecret) ?? { things: new Set() }
      bySignIn.set(originSecret, { signIn, things: things.add(thing) })
    },
    signIns: () => [...bySignIn.values()].map(({ signIn }) => signIn),
    closeOf(originSecret) {
      const { things } = bySignIn.get(originSecret) ?? {}
      bySignIn.delete(originSecret)
      if (!things) return
      close(new Set(things)).catch((error: unknown) => {
        log.warn({ error: String(error) }, 'what an ended sign-in had opened did not close cleanly')
      })
    },
  }
}
