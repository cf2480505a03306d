import { directFetch, type Fetch } from './direct-fetch.ts'
import type { Network } from './network.ts'
import type { Pin } from './pin.ts'

let made: Promise<Network | undefined> | undefined
let readPins: () => Promise<Pins> = () => Promise.resolve({})

/** Pins by the origins of their servers. */
export type Pins = Readonly<Record<string, Pin>>

/** Makes this program accept these servers by their pins only. Call it before the first connection, and after a change. */
export function usePins(read: () => Promise<Pins>): void {
  readPins = read
  made = undefined
}

/**
 * Network settings of a program without windows: the proxy that HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY name when it is first used,
 * and the certificates of `usePins`.
 *
 * @returns undefined if there is neither; nothing else is loaded then, because OpenSSH starts such a program for every connection
 */
export function environmentNetwork(): Promise<Network | undefined> {
  return (made ??= open(process.env))
}

/** `fetch`, by the proxy that the environment names. Redirects are not followed. */
export const fetchByEnvironment: Fetch = async (url, init) => {
  const network = await environmentNetwork()
  return await (network?.fetch ?? directFetch)(url, init)
}

async function open(env: NodeJS.ProcessEnv): Promise<Network | undefined> {
  const pins = await readPins()
  const hasProxy = Object.keys(env).some(name => /^(https?|all)_proxy$/i.test(name))
  if (!hasProxy && Object.keys(pins).length === 0) return undefined
  const [{ createNetwork }, { environmentWays }] = await Promise.all([
    import('./network.ts'),
    import('./environment-ways.ts'),
  ])
  return createNetwork({ findWays: environmentWays(env), pinOf: origin => pins[origin] })
}
