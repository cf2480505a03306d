import { PROXY_DOCS, PROXY_SETTINGS, proxyFaultText } from '#proxy/contract'
import { type Check, ok, warning } from '../check.ts'

export const reverseProxy: Check = {
  name: 'reverse proxy',
  run({ proxyFaults }) {
    if (proxyFaults === undefined) return undefined
    if (proxyFaults.length === 0) return ok('No request has shown a fault of a reverse proxy in front of the console.')
    const says = proxyFaults.map(
      fault => `${proxyFaultText(fault).says} Seen from ${fault.firstSeen} to ${fault.lastSeen}.`,
    )
    const settings = PROXY_SETTINGS.map(
      ({ program, lines }) => `${program}: ${lines.map(line => `\`${line}\``).join(', ')}`,
    )
    return warning(
      says.join(' '),
      [...proxyFaults.map(fault => proxyFaultText(fault).mend), `${settings.join('. ')}.`, `See ${PROXY_DOCS}.`].join(
        ' ',
      ),
    )
  },
}
