import { Resolver } from 'node:dns/promises'

/** Time for one query, of which a lookup makes at most four. */
const QUERY_MS = 3_000
const TRIES = 2

/**
 * Addresses of a name from the name servers of this host, IPv4 first; empty if it has none. Without /etc/hosts and search domains, which
 * are about the host's own network. Queries occupy no thread of this process, so names that answer slowly keep nothing else waiting.
 */
export async function resolveName(name: string, signal: AbortSignal): Promise<readonly string[]> {
  // A new one each time: the name servers of a host change with its networks.
  const resolver = new Resolver({ timeout: QUERY_MS, tries: TRIES })
  const cancel = () => resolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    return found.flatMap(one => (one.status === 'fulfilled' ? one.value : []))
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}
