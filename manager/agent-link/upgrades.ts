import { type IncomingMessage } from 'node:http'
import { type Duplex } from 'node:stream'

/**
 * Takes over the socket of one upgrade. Host and Origin have been checked; the handler authenticates
 * (`authenticateUpgrade` for users). If it throws or rejects, the upgrade is answered with the problem document of the
 * error, so it must not have written to the socket before.
 */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer, url: URL) => void | Promise<void>

/** Routes HTTP upgrades by path. Handlers are added before the server listens; the first match wins. */
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
