import { every } from '#base/every'
import { type Peers } from '../cluster/peers.ts'
import { type Store } from '../store/open-store.ts'
import { listOpen } from '../store/sessions/published-apps.ts'
import { type Logins } from '../users/logins.ts'

/** Tells those who use links, at every manager, when a link ends. */
export interface LinkEnds extends Disposable {
  /** Watches for the end of a link from now on, because a tunnel uses it. */
  watch(id: string): void
  /** Whether this is the id of a watched link, as opposed to a sign-in or a keypair. */
  isWatched(id: string): boolean
  /** Listens for links that end, at this manager or another one. @param listener returns how many connections it has ended */
  onEnd(listener: (id: string) => number): void
  /** Tells that these links have ended, here and at the other managers. @returns how many connections ended here */
  end(ids: readonly string[]): number
}

export interface LinkEndsDeps {
  readonly store: Pick<Store, 'db'>
  /** Tells that accounts or domains may have changed. */
  readonly logins: Pick<Logins, 'onChange'>
  readonly peers: Peers
  readonly recheckMs?: number | undefined
}

/** How long a tunnel may outlive its link if nobody tells this manager of its end: its expiry, or a message of an end or a change that was lost. */
const RECHECK_MS = 5_000

export function createLinkEnds({ store: { db }, logins, peers, recheckMs = RECHECK_MS }: LinkEndsDeps): LinkEnds {
  const watched = new Set<string>()
  const listeners: ((id: string) => number)[] = []
  // If the database does not answer, nothing ends now; the next round tries again.
  const rechecking = every(recheckMs, recheck)
  // Not joined with a round in progress, which may have read what held before the change.
  const stopListening = logins.onChange(() => void recheck().catch(() => undefined))
  const ended = peers.topic<string>('published_app_ended')
  ended.on(id => void endHere(id))

  /** @returns how many connections ended */
  function endHere(id: string): number {
    watched.delete(id)
    return listeners.reduce((sum, listener) => sum + listener(id), 0)
  }
  async function recheck(): Promise<void> {
    const ids = [...watched]
    const open = await listOpen(db, ids)
    for (const id of ids) if (!open.has(id)) endHere(id)
  }

  return {
    watch: id => void watched.add(id),
    isWatched: id => watched.has(id),
    onEnd: listener => void listeners.push(listener),
    end: ids =>
      ids.reduce((sum, id) => {
        ended.tell(id)
        return sum + endHere(id)
      }, 0),
    [Symbol.dispose]() {
      rechecking[Symbol.dispose]()
      stopListening()
    },
  }
}
