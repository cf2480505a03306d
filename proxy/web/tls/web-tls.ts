import { join } from 'node:path'
import { isIPv4, isIPv6, type Server as NetServer } from 'node:net'
import { createHttpServer, type HttpServerOptions } from '../../http/create-server.ts'
import { type Log } from '../../log.ts'
import { answerUnreadRequests } from '../unread-requests.ts'
import { acmeSupply } from './acme/acme-supply.ts'
import { type Challenges } from './acme/challenges.ts'
import { coversName } from './certificate.ts'
import { readCertificateFiles } from './certificate-files.ts'
import { type CertificateKeeper, keepCertificate, type Supply } from './keeper.ts'
import { openOwnCertificate } from './own-certificate.ts'
import { createPlainAnswers } from './plain-answers.ts'
import { type TlsConfig } from './tls-config.ts'
import { createTlsServer, tlsOptions } from './tls-server.ts'

/** TLS of the web process: its certificate, and servers that speak it. */
export interface WebTls extends Disposable {
  readonly certificate: CertificateKeeper
  /** A server for one address and port; clients without TLS are redirected to the same address with TLS. */
  createServer(options: HttpServerOptions): NetServer
  /** A server without TLS, for the port that only redirects. @param httpsPort target of the redirects */
  createRedirects(httpsPort: number): NetServer
  /** URL of the console, with a name that the certificate covers, if there is one. */
  urlOf(port: number): string
}

export interface WebTlsDeps {
  /** Directory of the server's data; keys and certificates are in `tls/`. */
  readonly dataDir: string
  readonly log: Log
  /** Address that the console listens at; left out: loopback. */
  readonly host?: string | undefined
  /** Interval between two looks at the certificate; only tests have a reason to set it. */
  readonly everyMs?: number | undefined
}

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1'])

/** Whether only this computer reaches an address: all of 127.0.0.0/8 is its own. */
const isOfThisComputer = (host: string) => LOOPBACK.has(host) || (isIPv4(host) && host.startsWith('127.'))

/** HSTS for half a year, for the certificate's own names only, because sub-domains may be other people's servers. */
const INSIST = 'max-age=15552000'

/** @throws AppError `certificate_unusable` */
export async function openWebTls(config: TlsConfig, { dataDir, log, everyMs, host }: WebTlsDeps): Promise<WebTls> {
  const challenges: Challenges = new Map()
  const supply = supplyOf(config, { directory: join(dataDir, 'tls'), challenges, log })
  const certificate = await keepCertificate(supply, { log, everyMs })
  const challenge = (token: string) => challenges.get(token)
  const isOurs = (name: string) => coversName(config, name)
  const plainServer = (httpsPort?: number) =>
    createHttpServer({ onRequest: createPlainAnswers({ isOurs, httpsPort, challenge }), timeout: 30_000, log })

  return {
    certificate,
    createServer(options) {
      const tls = createHttpServer({
        ...options,
        onRequest(request, response) {
          if (certificate.current.facts.isPublic) response.setHeader('strict-transport-security', INSIST)
          return options.onRequest(request, response)
        },
        tls: tlsOptions(certificate.current),
      })
      answerUnreadRequests(tls)
      certificate.onChange(() => tls.setSecureContext(tlsOptions(certificate.current)))
      return createTlsServer({ tls, plain: plainServer() })
    },
    createRedirects: httpsPort => plainServer(httpsPort),
    urlOf(port) {
      const names = config.names.filter(one => !one.startsWith('*') && coversName(certificate.current.facts, one))
      // A single network address is set for people at other computers, who cannot use localhost.
      const isHere = host === undefined || ['0.0.0.0', '::'].includes(host) || isOfThisComputer(host)
      const name = (isHere ? undefined : names.find(one => !LOOPBACK.has(one))) ?? names[0] ?? 'localhost'
      return `https://${isIPv6(name) ? `[${name}]` : name}${port === 443 ? '' : `:${port}`}`
    },
    [Symbol.dispose]: () => certificate[Symbol.dispose](),
  }
}

interface SupplyDeps {
  readonly directory: string
  readonly challenges: Challenges
  readonly log: Log
}

function supplyOf(config: TlsConfig, { directory, challenges, log }: SupplyDeps): Supply {
  const own = ownSupply(directory, config.names)
  if (config.source === 'own') return own
  if (config.source === 'acme') return acmeSupply(config, { directory, challenges, own })
  return keepSame('files', now => readCertificateFiles(config, now, log))
}

const ownSupply = (directory: string, names: readonly string[]) =>
  keepSame('own', now => openOwnCertificate(directory, names, now))

/** Returns the same object while certificate and key are unchanged. */
function keepSame(kind: Supply['kind'], read: Supply['check']): Supply {
  let last: Awaited<ReturnType<Supply['check']>> | undefined
  return {
    kind,
    async check(now) {
      const next = await read(now)
      if (last?.cert !== next.cert || last.key !== next.key) last = next
      return last
    },
  }
}
