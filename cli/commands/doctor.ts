import { join, resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { DOCTOR_PARTS, type DoctorPart, StoragePaths } from '#manager/contract'
import { consoleHostsOf, consolePortOf, databaseUrlOf, LOOPBACK, readSettings } from '../config/berth-toml/read.ts'
import { dataDirectory } from '../config/directories.ts'
import { EXIT } from '../exit-codes.ts'
import { createOutput } from '../output.ts'
import { dataOption } from './data-option.ts'
import { parsePort } from './servers.ts'

interface DoctorFlags {
  data?: string
  config?: string
  port?: number
  of?: DoctorPart
  managerUrl?: string
  json?: boolean
}

/**
 * Adds `berth doctor`: finds the problems of this computer, and explains how to fix them. Needs no running Berth and no
 * sign-in.
 */
export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description(
      'Check Docker, GPU, disk, ports, database and clock of this computer, and say how to fix each problem.',
    )
    .addOption(dataOption())
    .option('--config <file>', 'settings file (default: berth.toml in the data directory)')
    .option('--port <number>', 'port of the console', parsePort)
    // For managers and agents, which run this command when an administrator asks them.
    .addOption(new Option('--of <process>', 'only the checks about this process').choices(DOCTOR_PARTS).hideHelp())
    .addOption(new Option('--manager-url <url>', 'with --of: address of the manager').hideHelp())
    .option('--json', 'print JSON')
    .action(async ({ data, config, port, of, managerUrl, json = false }: DoctorFlags) => {
      // Loaded late: clients of engine and database, a third of the modules that the command line would load.
      const { collectFacts } = await import('../doctor/collect.ts')
      const { checksOf, describeDiagnosis, diagnose } = await import('../doctor/doctor.ts')
      const directory = resolve(data ?? dataDirectory())
      const settings = await readSettings(directory, config)
      const setting = (key: string, variable: string) => process.env[variable] || settings.values.get(key)
      const facts = await collectFacts({
        data: directory,
        homes: {
          directory: setting('agent.scratch.directory', 'BERTH_AGENT_SCRATCH') ?? join(directory, 'agent', 'scratch'),
          floorBytes: Number(setting('agent.scratch.floorMib', 'BERTH_AGENT_SCRATCH_FLOOR_MIB') ?? 1024) * 2 ** 20,
        },
        health: {
          command: setting('agent.health.command', 'BERTH_HEALTH_COMMAND'),
          timeoutSeconds: setting('agent.health.timeoutSeconds', 'BERTH_HEALTH_TIMEOUT_S'),
        },
        storages: storagesOf(setting('storage.hosts', 'BERTH_STORAGE'), directory),
        port: consolePortOf(settings, port),
        metrics: {
          hosts: consoleHostsOf(settings).filter(host => !LOOPBACK.has(host)),
          hasToken: setting('manager.metricsTokenFile', 'BERTH_METRICS_TOKEN_FILE') !== undefined,
        },
        // An agent has no business with the database, whatever the file of this computer says.
        databaseUrl: of === 'agent' ? undefined : databaseUrlOf(settings),
        dockerHost: setting('agent.dockerHost', 'DOCKER_HOST'),
        toolboxImage: setting('agent.toolboxImage', 'BERTH_TOOLBOX_IMAGE'),
        secretFiles: settings.file && settings.values.has('manager.databaseUrl') ? [settings.file] : [],
        askedBy: of && { managerUrl },
      })
      const diagnosis = diagnose(facts, checksOf(of))
      createOutput(json).data(diagnosis, () => describeDiagnosis(diagnosis))
      if (diagnosis.level === 'problem') process.exitCode = EXIT.failed
    })
}

/** Directories of the storages. A value that the servers refuse names none: they say what is wrong with it. */
function storagesOf(text: string | undefined, data: string): string[] {
  if (text === undefined) return [join(data, 'storage')]
  return [...(StoragePaths.safeParse(text).data ?? new Map<string, string>()).values()]
}
