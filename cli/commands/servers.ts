import { type Command, InvalidArgumentError, Option } from 'commander'
import { defined } from '#base/defined'
import { onParentGone } from '#base/parent-channel'
import { Interrupted, listenForInterrupt } from '../interrupt.ts'
import { createOutput } from '../output.ts'
import { variablesHelp } from '../config/variables.ts'
import { dataOption } from './data-option.ts'
import { addServer } from './single-server.ts'

interface UpFlags {
  data?: string
  config?: string
  port?: number
  open: boolean
  browser?: boolean
  engine: boolean
  images?: boolean
  tls?: boolean
  ticket?: boolean
  json?: boolean
}

/** Adds `berth up`, and the single servers it consists of, for administrators who run them separately. */
export function addServerCommands(program: Command): void {
  program
    .command('up')
    .description(
      'Start manager, agent and console on this computer and open the console. Ctrl-C stops them, not the sessions.',
    )
    .addOption(dataOption())
    .option('--config <file>', 'settings file (default: berth.toml in the data directory)')
    .option('--port <number>', 'port of the console, 0 = any free port (BERTH_PORT; default 8400)', parsePort)
    .option('--tls', 'speak https, with a certificate that Berth makes if none is given (BERTH_TLS=on)')
    .option('--no-open', 'open nothing')
    .option('--browser', 'open the console in the usual browser instead of a window of its own')
    .option('--no-engine', 'without an agent, for a computer without a Docker Engine (BERTH_NO_ENGINE=1)')
    .option(
      '--images',
      'build the toolbox and the first session image in the background if the Docker Engine lacks them',
    )
    .addOption(new Option('--ticket', 'with --json: put a one-time sign-in ticket into the url').hideHelp())
    .option('--json', 'print one line of JSON when the console answers and the agent is connected')
    .addHelpText('after', () => variablesHelp('up'))
    .action(async (flags: UpFlags) => {
      const engine = flags.engine && process.env.BERTH_NO_ENGINE !== '1'
      const { data, config, port } = flags
      const output = createOutput(flags.json ?? false)
      using interrupt = listenForInterrupt()
      // The desktop app holds the other end of this channel, which closes also when the app is killed.
      if (flags.ticket) onParentGone(process, () => process.kill(process.pid, 'SIGTERM'))
      const { up } = await import('../up/up.ts') // loaded late: only this command starts servers
      await up({
        ...(data ? { data } : {}),
        ...(config ? { config } : {}),
        ...defined({ port }),
        open: flags.open ? (flags.browser ? 'browser' : 'window') : 'nothing',
        engine,
        images: flags.images ?? false,
        tls: flags.tls ?? false,
        ticket: flags.ticket ?? false,
        output,
        signal: interrupt.signal,
      }).catch((error: unknown) => {
        // An interrupt before everything has started is a requested end too.
        if (!(error instanceof Interrupted)) throw error
      })
    })
  addServer(program, 'manager', 'manager/main', 'Run only the manager, configured by environment variables.')
  addServer(program, 'agent', 'agent/main', 'Run the agent for one Docker Engine.')
    .option(
      '--join <string>',
      'join string from `berth admin agent join-token`, for the first start; with BERTH_JOIN instead, other users of the host cannot see it',
    )
    .option(
      '--replace',
      'take the place of the agent that this engine had: its id and containers stay (BERTH_AGENT_REPLACE=1)',
    )
  addServer(
    program,
    'wsproxy',
    'proxy/web/main',
    'Run the console and its local proxy for browsers, for the manager at BERTH_MANAGER_URL.',
  )
}

export function parsePort(text: string): number {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new InvalidArgumentError('The value must be a number from 0 to 65535.')
  return port
}
