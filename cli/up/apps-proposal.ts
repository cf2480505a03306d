import { type Running } from './control-socket.ts'

/** Lines that propose an address of apps where the console has none and knows one that works. */
export function appsProposal({ apps }: Pick<Running, 'apps'>): string {
  if (!apps?.proposal) return ''
  const { port, last } = /:(?<port>\d+)-(?<last>\d+)$/.exec(apps.proposal)?.groups ?? {}
  return (
    'Browsers on other computers can open JupyterLab and other web apps once these have an address. ' +
    `Open the ports ${port} to ${last} in the firewall, and add to berth.toml:\n` +
    `    [console]\n    appsAddress = "${apps.proposal}"\n`
  )
}
