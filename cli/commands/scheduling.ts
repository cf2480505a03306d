import { type Command } from 'commander'
import { type Scheduling } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput } from '../output.ts'
import { adminOf } from './admin.ts'

/** Adds `berth admin pause` and `berth admin resume`, which stop and resume the start of sessions. */
export function addSchedulingCommands(program: Command): void {
  const admin = adminOf(program)
  admin
    .command('pause')
    .description('Start no sessions until `berth admin resume`. Running sessions continue.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const now = await api.pauseScheduling()
      createOutput(json).data(now, () => textOf(now))
    })
  admin
    .command('resume')
    .description('Start sessions again: after a pause, or after a restore once the agents are connected.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const now = await api.resumeScheduling()
      createOutput(json).data(now, () => textOf(now))
    })
}

const textOf = ({ paused }: Scheduling) =>
  paused ? `Scheduling is paused since ${paused.since}.` : 'Sessions are started.'
