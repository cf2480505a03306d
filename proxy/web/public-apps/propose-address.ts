import { isIP } from 'node:net'

/** Ports that no well-known program uses, and that few systems use for outgoing connections. */
const RANGES = ['20000-20099', '21000-21099'] as const

/**
 * Proposes an address of apps if the console speaks TLS itself and has a name: ports of the same name, with the same certificate. Null if
 * Berth cannot know one.
 */
export function proposeAddress(known: {
  readonly hasTls: boolean
  readonly allowedHosts: readonly string[]
  readonly port: number
}): string | null {
  const names = known.allowedHosts.map(host => host.replace(/:\d+$/, ''))
  const name = names.find(one => isIP(one) === 0 && /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(one))
  if (!known.hasTls || name === undefined) return null
  const range = String(known.port).startsWith('200') && known.port >= 20_000 ? RANGES[1] : RANGES[0]
  return `https://${name}:${range}`
}
