import { type IncomingMessage } from 'node:http'
import { type Duplex } from 'node:stream'

/**
 * Takes over the socket of one upgrade. Host and Origin have been checked; authentication is the handler's
 * (`authenticateUpgrade` for users). A handler that throws or rejects answers with the problem document of its error,
 * so it must not have written to the socket before.
 */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer, url: URL) => void | Promise<void>

/** Upgrades to something else than HTTP, by path. Handlers are added before the server listens; the first match wins. */
export interface Upgrades {
  on(match: (url: URL) => boolean, handler: UpgradeHandler): void
  find(url: URL): UpgradeHandler | undefined
}

export function createUpgrades(): Upgrades {
  const entries: { match: (url: URL) => boolean; handler: UpgradeHandler }[] = []
  return {
    on: (match, handler) => void entries.push({ match, handler }),
    find: url => entries.find(entry => entry.match(url))?.handler,
  }
}
