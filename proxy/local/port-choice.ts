import { type ListenerRequest } from '../listeners/open-listener.ts'

export interface PortWish {
  /** Port that the caller names. */
  readonly port: number | undefined
  /** `random`: the port is a suggestion of a page, such as the number that the app has inside its session. */
  readonly onPortTaken: 'fail' | 'random'
  /** Port that the same app had last in a session of this name. */
  readonly remembered: number | undefined
  /** Ports that tunnels of this user have used. */
  readonly used: ReadonlySet<number>
  /** Whether browsers use the port, on a computer that has other people. */
  readonly isExposed: boolean
}

export type PortChoice = Pick<ListenerRequest, 'wanted' | 'remembered' | 'avoided'> & {
  /** Whether to keep an address that the same app had before, so that bookmarks and the app's data in the browser stay valid. */
  readonly isLasting: (port: number) => boolean
}

/**
 * Decides which port a tunnel gets.
 *
 * Threat model: a port is free while its tunnel is closed. Another user of the computer can show a page there in the meantime, which leaves
 * a service worker in the browser and reads the ticket of the next visit. So where there are other users, a web app gets a port that no
 * tunnel had, at a host name of its own: a page at a known name can make the browser visit that name at every port. A port that the person
 * explicitly requests is used, at the lasting name (ADR 76).
 */
export function choosePort({ port, onPortTaken, remembered, used, isExposed }: PortWish): PortChoice {
  if (!isExposed) return { wanted: port, remembered, isLasting: () => true }
  const isInsisted = port !== undefined && onPortTaken === 'fail'
  const isNew = port !== undefined && remembered === undefined && !used.has(port)
  return {
    wanted: isInsisted || isNew ? port : undefined,
    remembered: undefined,
    avoided: used,
    isLasting: got => isInsisted && got === port,
  }
}
