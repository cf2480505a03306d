import { type App } from '../sessions/sessions.ts'

/** A port of a session, opened like an app. */
export interface ForwardedPort extends App {
  readonly port: number
}

/** Whether a browser opens the app. */
export const isWebApp = ({ protocol }: Pick<App, 'protocol'>): boolean => protocol !== 'tcp'

const NAME = /^(https?|tcp)-([1-9]\d{0,4})$/

/** Name of the app that stands for a port: `http` or `https` if a browser opens it, `tcp` if another program connects. */
export function portAppName(protocol: App['protocol'], port: number): string {
  return `${protocol}-${port}`
}

/**
 * Reads a name such as `http-8080` or `tcp-5432`. Every port of a session can be opened by such a name, whatever its image declares.
 * An app of the image with the same name is preferred.
 *
 * @returns undefined if the name does not stand for a port
 */
export function forwardedPort(name: string): ForwardedPort | undefined {
  const [, protocol, digits] = NAME.exec(name) ?? []
  const port = Number(digits)
  if (protocol === undefined || !(port <= 65_535)) return undefined
  return { name, title: `Port ${port}`, protocol: protocol as App['protocol'], path: '/', port }
}
