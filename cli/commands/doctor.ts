import { resolve } from 'node:path'
import { type Command } from 'commander'
import { consolePortOf, databaseUrlOf, readSettings } from '../config/berth-toml/read.ts'
import { dataDirectory } from '../config/directories.ts'
import { EXIT } from '../exit-codes.ts'
import { createOutput } from '../output.ts'
import { dataOption } from './data-option.ts'
import { parsePort } from './servers.ts'

interface DoctorFlags {
  data?: string
  config?: string
  port?: number
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
    .option('--json', 'print JSON')
    .action(async ({ data, config, port, json = false }: DoctorFlags) => {
      // Loaded late: clients of engine and database, a third of the modules that the command line would load.
      const { collectFacts } = await import('../doctor/collect.ts')
      const { describeDiagnosis, diagnose } = await import('../doctor/doctor.ts')
      const directory = resolve(data ?? dataDirectory())
      const settings = await readSettings(directory, config)
      const facts = await collectFacts({
        data: directory,
        port: consolePortOf(settings, port),
        databaseUrl: databaseUrlOf(settings),
        dockerHost: process.env.DOCKER_HOST || settings.values.get('agent.dockerHost'),
        toolboxImage: process.env.BERTH_TOOLBOX_IMAGE || settings.values.get('agent.toolboxImage'),
        secretFiles: settings.file && settings.values.has('manager.databaseUrl') ? [settings.file] : [],
      })
      const diagnosis = diagnose(facts)
      createOutput(json).data(diagnosis, () => describeDiagnosis(diagnosis))
      if (diagnosis.level === 'problem') process.exitCode = EXIT.failed
    })
}
