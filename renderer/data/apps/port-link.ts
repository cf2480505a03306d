import { portAppName } from '#manager/contract'

export interface PortLink {
  /** Name of the app that stands for the port. */
  readonly app: string
  readonly port: number
  /** Path and query of the link. */
  readonly path: string
}

const LOCAL_HOSTS = new Set(['localhost', '127.0.0.1', '0.0.0.0', '[::1]', '[::]'])

/**
 * Reads a link that a program in a session prints for its own machine, such as `http://localhost:8888/lab?token=x`. Without a tunnel
 * it would lead to the user's computer.
 *
 * @returns undefined for all other links
 */
export function portLink(url: string): PortLink | undefined {
  if (!URL.canParse(url)) return undefined
  const { protocol, hostname, port, pathname, search } = new URL(url)
  const isTls = protocol === 'https:'
  if ((protocol !== 'http:' && !isTls) || !LOCAL_HOSTS.has(hostname)) return undefined
  const number = port === '' ? (isTls ? 443 : 80) : Number(port)
  if (number === 0) return undefined
  return { app: portAppName(isTls ? 'https' : 'http', number), port: number, path: pathname + search }
}
