import { isIP } from 'node:net'
import { type Running } from './control-socket.ts'

/** Ports that no well-known program has, and that few systems give to outgoing connections. */
const RANGE = '20000-20099'

/**
 * Lines that propose an address of apps where the console has a name, speaks TLS and has none yet: a range of ports of the same name,
 * with the certificate that is there.
 */
export function appsProposal({ url, certificate, apps }: Pick<Running, 'url' | 'certificate' | 'apps'>): string {
  const { hostname } = new URL(url)
  if (!certificate || apps?.address !== null || hostname === 'localhost' || isIP(hostname.replace(/[[\]]/g, '')) !== 0)
    return ''
  return (
    'Browsers on other computers can open JupyterLab and other web apps once these have an address. ' +
    `Open the ports ${RANGE} in the firewall, and add to [console] in berth.toml:\n` +
    `    appsAddress = "https://${hostname}:${RANGE}"\n`
  )
}
