import { resolve } from 'node:path'
import { type Command } from 'commander'
import { dataDirectory } from '../config/directories.ts'
import { collectFacts } from '../doctor/collect.ts'
import { describeDiagnosis, diagnose } from '../doctor/doctor.ts'
import { EXIT } from '../exit-codes.ts'
import { createOutput } from '../output.ts'
import { parsePort } from './servers.ts'

interface DoctorFlags {
  data?: string
  port: number
  json?: boolean
}

/** `berth doctor`: what is wrong with this computer, and how to mend it. Needs no running Berth and no sign-in. */
export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('Check Docker, GPU, disk, ports, database and clock of this computer, and say how to mend each.')
    .option('--data <directory>', 'where the state is kept (BERTH_DATA)')
    .option('--port <number>', 'port of the console', parsePort, 8400)
    .option('--json', 'print JSON')
    .action(async ({ data, port, json = false }: DoctorFlags) => {
      const directory = resolve(data ?? dataDirectory())
      const facts = await collectFacts({ data: directory, port, databaseUrl: process.env.DATABASE_URL })
      const diagnosis = diagnose(facts)
      createOutput(json).data(diagnosis, () => describeDiagnosis(diagnosis))
      if (diagnosis.level === 'problem') process.exitCode = EXIT.failed
    })
}
