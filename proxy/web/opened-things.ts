import { type TunnelId } from '#proxy/contract'
import { type Proxy } from '../index.ts'
import { type Log } from '../log.ts'

/** A tunnel, or the port of all folders. */
export type OpenedThing = TunnelId | 'sftp'

/** Records what each sign-in of a person has opened in the proxy that all of them share. @typeParam S data with which to check a sign-in */
export interface OpenedThings<S> {
  note(originSecret: string, signIn: S, thing: OpenedThing): void
  /** Sign-ins with something open, each with its latest data. */
  signIns(): S[]
  /** Closes everything that this sign-in has opened, even if others use it as well. */
  closeOf(originSecret: string): void
}

/** Identifies a sign-in by its origin secret: the cookies of its requests may change, as other ports can set some. */
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
    () => undefined, // the caller that requested the proxy gets the error
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
