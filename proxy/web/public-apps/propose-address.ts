import { isIP } from 'node:net'

/** Ports that no well-known program has, and that few systems give to outgoing connections. */
const RANGES = ['20000-20099', '21000-21099'] as const

/**
 * An address of apps that works where the console speaks TLS itself and has a name: ports of the same name, with the certificate
 * that is there. Null where Berth cannot know one.
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
