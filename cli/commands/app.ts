import { type Command, InvalidArgumentError, Option } from 'commander'
import { type App, AppError, AppProtocol, isWebApp, portAppName } from '#manager/contract'
import { type SshKit } from '#proxy/contract'
import { connect } from '../config/connect.ts'
import { listenForInterrupt, whenInterrupted } from '../interrupt.ts'
import { createOutput } from '../output.ts'
import { openProxy } from '../proxy.ts'
import { openBrowser } from '../up/browser.ts'
import { findSession } from './find-session.ts'
import { addPublishedAppCommands } from './published-apps.ts'
import { parsePort } from './servers.ts'

interface AppFlags {
  protocol?: App['protocol']
  port?: number
  random?: boolean
  arg?: Record<string, string>
  env?: Record<string, string>
  open: boolean
  json?: boolean
}

export function addAppCommand(program: Command): void {
  const app = program
    .command('app <session> <app>')
    .description(
      'Open an app of a session on a local port, until Ctrl-C. Any port of the session can be opened: http-8080 for a browser, https-8443 if the server speaks https only, tcp-5432 for another program; or 8443 --protocol https.',
    )
    .addOption(
      new Option('--protocol <protocol>', 'for a port that is given by its number (default: http)').choices(
        AppProtocol.options,
      ),
    )
    .option('--port <number>', 'local port to listen on', parsePort)
    .option('--random', 'use a random port if that one is in use')
    .option(
      '--arg <name[=value]>',
      'argument for the app, such as --arg --logdir=/home/work/logs; repeatable',
      collectArgument,
    )
    .option('--env <name=value>', 'environment variable for the app; repeatable', collectVariable)
    .option('--no-open', 'do not open a browser')
    .option('--json', 'print one line of JSON once the port is open')
    .action(async (reference: string, named: string, flags: AppFlags) => {
      const app = appNameOf(named, flags)
      const connection = await connect()
      const { id } = await findSession(connection, reference)
      const { arg, env } = flags
      // Set the options before the tunnel opens: other options restart the app, which would cut its connections.
      if (arg ?? env) {
        const body = { arguments: arg ?? {}, environment: env ?? {} }
        await connection.api.startApp({ params: { id, app }, body })
      }
      await using proxy = await openProxy(connection)
      const spec = {
        sessionId: id,
        app,
        ...(flags.port ? { port: flags.port } : {}),
        onPortTaken: flags.random ? ('random' as const) : ('fail' as const),
      }
      using interrupt = listenForInterrupt()
      const interrupted = whenInterrupted(interrupt)
      const output = createOutput(flags.json ?? false)
      const ended = new Promise<void>(done => {
        proxy.on('tunnel:closed', () => done())
      })
      // The app may have to start first, which takes up to a minute.
      const kit = app === 'sshd' ? await Promise.race([proxy.ssh.connect(spec), interrupted]) : undefined
      const tunnel = kit?.tunnel ?? (await Promise.race([proxy.tunnel.open(spec), interrupted]))
      const address = `${tunnel.host}:${tunnel.port}`
      if (isWebApp(tunnel.app)) {
        const { url } = await proxy.tunnel.openApp(spec)
        output.data({ url, ...tunnel }, () => `${tunnel.app.title}: ${url}`)
        if (flags.open && !flags.json) await openBrowser(url)
      } else {
        const said = `${tunnel.app.title}: ${address} (any user of this computer can connect)`
        output.data({ ...tunnel, ...(kit && keysOf(kit)) }, () => [said, ...(kit ? [kit.commands.ssh] : [])].join('\n'))
      }
      output.note('Press Ctrl-C to close it.')
      const isClosedByUser = await Promise.race([ended.then(() => false), interrupted.catch(() => true)])
      if (!isClosedByUser) throw new AppError('session_not_running', { why: 'The session has ended.' })
    })
  addPublishedAppCommands(app, parsePort)
}

/** Keys and names that a client of SSH needs beside the address. */
const keysOf = ({ user, hostAlias, hostKey, hostKeyFingerprint, identityFile, commands }: SshKit) => ({
  user,
  hostAlias,
  hostKey,
  hostKeyFingerprint,
  identityFile,
  ppkFile: identityFile === null ? null : `${identityFile}.ppk`,
  commands,
})

/** The app of a port that is given by its number. @throws AppError `bad_request` for a protocol of another app */
function appNameOf(named: string, { protocol }: AppFlags): string {
  if (/^\d+$/.test(named)) return portAppName(protocol ?? 'http', Number(named))
  if (protocol === undefined) return named
  throw new AppError('bad_request', { why: '--protocol is for a port that is given by its number, such as 8443.' })
}

/** Splits `--logdir=/x` into name and value; a name alone is a flag. */
function collectArgument(text: string, collected: Record<string, string> = {}): Record<string, string> {
  const [, name = text, value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  return { ...collected, [name]: value }
}

function collectVariable(text: string, collected: Record<string, string> = {}): Record<string, string> {
  const [, name, value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (name === undefined) throw new InvalidArgumentError('Give the variable as NAME=VALUE.')
  return { ...collected, [name]: value }
}
