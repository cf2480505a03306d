/**
 * The web process: serves the console to browsers and hosts the local proxy for them.
 *
 *     BERTH_MANAGER_URL      required, e.g. http://127.0.0.1:8401
 *     BERTH_DATA             ports and settings of users are kept in <BERTH_DATA>/proxy
 *     BERTH_PORT             default 8400; 0 = any free port
 *     BERTH_HOST             another address beside 127.0.0.1 and ::1
 *     BERTH_ALLOWED_HOSTS    further names browsers use, comma separated, e.g. berth.example.org
 *     BERTH_TRUSTED_PROXIES  addresses of TLS reverse proxies in front, comma separated, e.g. 127.0.0.1; default none.
 *                            Their x-forwarded-for (last address) and x-forwarded-proto are believed, nobody else's
 *     BERTH_TLS              on or off; default on with a certificate, or where BERTH_HOST is not loopback and BERTH_TRUSTED_PROXIES is
 *                            empty. Keys and certificates that we make are in <BERTH_DATA>/tls
 *     BERTH_TLS_CERTIFICATE, BERTH_TLS_KEY  PEM files of a certificate; default one that we make
 *     BERTH_TLS_ACME         orders certificates by ACME for BERTH_ALLOWED_HOSTS and BERTH_APPS_ADDRESS: letsencrypt, letsencrypt-staging, or
 *                            the URL of a directory. BERTH_TLS_ACME_EMAIL is told to the authority; BERTH_TLS_DNS_HOOK is a program
 *                            that sets TXT records (`proxy/web/tls/acme/dns-hook.ts`), needed for wildcards
 *     BERTH_HTTP_PORT        a further port that only sends browsers to https; default none
 *     BERTH_APPS_ADDRESS     address of apps for browsers on other computers, and of published apps, e.g. https://*.apps.example.org or
 *                            https://berth.example.org:20000-20099 (a port of the console's name or of another one);
 *                            the manager needs the same; default none
 *     BERTH_CONSOLE_SECRET_FILE  a file with the text that the manager has in its own BERTH_CONSOLE_SECRET_FILE, so that the
 *                            manager believes our reports about our clients. `berth up` makes a secret (BERTH_CONSOLE_SECRET)
 *                            at each start
 *     BERTH_LOCAL_PROOF      off: a browser at a loopback name counts as on this computer without a proof; default required
 *     BERTH_DIRECT_PATH      off: bytes of apps on this computer go through manager and agent too; default on. Only where
 *                            `berth up` has made a key (BERTH_DIRECT_KEY) for the console and its agent
 *     BERTH_SSH_DIR          where the SSH kit writes its configuration and keys; default ~/.ssh
 *     BERTH_CONSOLE_DIR      the built page; default dist/renderer beside this program
 *     BERTH_CONSOLE_DEV_URL  a development server that serves the page instead
 *     BERTH_LOG              log level; logs are JSON lines on stderr
 *
 * When it listens it prints one line on stdout: {"ready":"console","url":"http://localhost:8400"}. If it cannot start:
 * {"error":{"code","message","detail"}} and exit code 1. It stops on SIGINT and SIGTERM, and ends at once when its parent goes away.
 */
import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pino from 'pino'
import { answerParent, onParentGone, takeFromParent } from '#base/parent-channel'
import { toWireError } from '#manager/contract'
import { parseConfig } from './config.ts'
import { startWeb } from './server.ts'
import { reportOf } from './tls/keeper.ts'

export { startWeb } from './server.ts'

async function main() {
  const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
  const log = pino(
    { level: process.env.BERTH_LOG ?? 'info', name: 'console' },
    pino.destination({ dest: 2, sync: false }),
  )
  const stopped = Promise.withResolvers<undefined>()
  const stop = () => stopped.resolve(undefined)
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  // End at once: the port of the manager is not held any more, and what we send could reach another program there (ADR 73).
  onParentGone(process, () => process.exit(0))
  try {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    const config = parseConfig(process.env, { consoleDir: join(root, 'dist', 'renderer'), version })
    // An aborted start leaves nothing but sockets, which end with the process.
    const web = await Promise.race([startWeb(config, log), stopped.promise])
    if (!web) return process.exit(0)
    if (process.channel) {
      process.on('message', (message, handle) => {
        if (handle instanceof Socket) {
          takeFromParent(process, { message, connection: handle, take: socket => web.take(socket) })
          return
        }
        const { id, type } = (message ?? {}) as { id?: unknown; type?: unknown }
        const answer = (value: unknown) => answerParent(process, { id, ok: true, value })
        if (type === 'create_local_code') answer({ code: web.createLocalCode() })
        if (type === 'list_proxy_faults') answer({ faults: web.proxyFaults() })
        if (type === 'get_apps') answer({ apps: web.apps() })
        if (type === 'get_certificate') answer({ certificate: web.certificate && reportOf(web.certificate) })
      })
    }
    process.stdout.write(`${JSON.stringify({ ready: 'console', url: web.url })}\n`)
    await stopped.promise
    await web[Symbol.asyncDispose]()
    process.exit(0)
  } catch (error) {
    log.fatal({ err: error }, 'the console could not start')
    process.stdout.write(`${JSON.stringify({ error: toWireError(error) })}\n`, () => process.exit(1))
  }
}

if (import.meta.main) await main()
