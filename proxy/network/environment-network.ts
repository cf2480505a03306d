import type { Fetch, Network } from './network.ts'

let made: Promise<Network | undefined> | undefined

/**
 * The network of a program that has no window: the proxy that HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY name when it is first
 * used.
 *
 * @returns undefined where they name none; nothing else is loaded then, because OpenSSH starts such a program for every connection
 */
export function environmentNetwork(): Promise<Network | undefined> {
  return (made ??= open(process.env))
}

/** `fetch`, by the proxy that the environment names. */
export const fetchByEnvironment: Fetch = async (url, init) => {
  const network = await environmentNetwork()
  return await (network?.fetch ?? fetch)(url, init)
}

async function open(env: NodeJS.ProcessEnv): Promise<Network | undefined> {
  if (!Object.keys(env).some(name => /^(https?|all)_proxy$/i.test(name))) return undefined
  const { environmentWays } = await import('./environment-ways.ts')
  const findWays = environmentWays(env)
  if (!findWays) return undefined
  const { createNetwork } = await import('./network.ts')
  return createNetwork({ findWays })
}
