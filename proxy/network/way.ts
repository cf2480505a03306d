/** A proxy of the network (of a company or a university); not Berth's own local proxy. */
export interface NetworkProxy {
  /**
   * Origin of the proxy: `http://proxy.example:3128`, with `https:` if the connection to the proxy itself is encrypted, or
   * `socks5://proxy.example:1080`.
   */
  readonly url: string
  /** `name:password` where the setting itself has it, as HTTPS_PROXY may. */
  readonly signIn?: string | undefined
}

/** Way to a server. `unknown` stands for a kind of proxy that Berth cannot use, such as SOCKS of version 4. */
export type Way = { readonly kind: 'direct' } | ({ readonly kind: 'proxy' } & NetworkProxy) | UnknownWay

interface UnknownWay {
  readonly kind: 'unknown'
  /** Name of the proxy in the setting, for the error. */
  readonly named: string
}

/** The ways to a server, in the order in which to try them; never empty. */
export type FindWays = (target: URL) => Promise<readonly Way[]>

export const DIRECT: readonly Way[] = [{ kind: 'direct' }]

/** Connections to this computer never leave it, whatever the settings of a network say. */
export function isLoopback({ hostname }: URL): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase()
  return host === 'localhost' || host.endsWith('.localhost') || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}
