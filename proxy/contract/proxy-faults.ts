/** Kinds of faults of a reverse proxy in front of the console. */
export type ProxyFaultCode = 'fields_missing' | 'not_trusted' | 'silent' | 'scheme_wrong' | 'host_changed'

/** A fault of one reverse proxy, as the console has seen it since it started. */
export interface ProxyFault {
  readonly code: ProxyFaultCode
  /** IP address of the connection, from the socket. */
  readonly peer: string
  /** ISO 8601. */
  readonly firstSeen: string
  readonly lastSeen: string
}

/** Documentation of the headers for each reverse proxy program. */
export const PROXY_DOCS = 'docs/admin/agents.md#what-the-reverse-proxy-must-send'

const NAME_IT = (peer: string) => `set BERTH_TRUSTED_PROXIES=${peer} (console.trustedProxies) and restart Berth`

const TEXTS: Readonly<Record<ProxyFaultCode, (peer: string) => { readonly says: string; readonly mend: string }>> = {
  fields_missing: peer => ({
    says: `The reverse proxy at ${peer} does not send X-Forwarded-For and X-Forwarded-Proto with every request.`,
    mend: 'Configure it to send both.',
  }),
  // Any program can make these fields up: the text must not talk an administrator into trusting a stranger.
  not_trusted: peer => ({
    says: `Requests from ${peer} carry X-Forwarded fields, but Berth does not trust that address.`,
    mend: `If ${peer} is your reverse proxy, ${NAME_IT(peer)}. If not, a program there forges the fields.`,
  }),
  silent: peer => ({
    says: `Browsers use https, but their requests come from ${peer} over http and without X-Forwarded fields.`,
    mend: `If ${peer} is your reverse proxy, configure it to send X-Forwarded-For and X-Forwarded-Proto, and ${NAME_IT(peer)}.`,
  }),
  scheme_wrong: peer => ({
    says: `The reverse proxy at ${peer} sends X-Forwarded-Proto: http for browsers that use https.`,
    mend: 'Configure it to send X-Forwarded-Proto: https.',
  }),
  host_changed: peer => ({
    says: `The reverse proxy at ${peer} changes the Host field, so browsers cannot sign in through it.`,
    mend: 'Configure it to pass on the Host field of the browser.',
  }),
}

/** Text of a fault, the same in the log, in `berth doctor` and on the page. */
export const proxyFaultText = ({ code, peer }: Pick<ProxyFault, 'code' | 'peer'>) => TEXTS[code](peer)

/** Lines that an administrator adds to the configuration of each reverse proxy program. */
export const PROXY_SETTINGS = [
  {
    program: 'nginx',
    lines: [
      'proxy_set_header Host $http_host;',
      'proxy_set_header X-Forwarded-For $remote_addr;',
      'proxy_set_header X-Forwarded-Proto $scheme;',
    ],
  },
  { program: 'HAProxy', lines: ['option forwardfor', 'http-request set-header X-Forwarded-Proto https'] },
  { program: 'Caddy', lines: ['# reverse_proxy sends all of them by itself'] },
] as const
