import { type Command } from 'commander'
import { type Backups, fromProblem, type SystemSettings } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { listenForInterrupt } from '../interrupt.ts'
import { createOutput, table } from '../output.ts'
import { adminOf } from './admin.ts'
import { followTask } from './follow-task.ts'
import { age, bytes, minuteIn } from './text.ts'

interface ScheduleFlags {
  at: string
  timeZone?: string
  keep?: string
  json?: boolean
}

/** `berth admin backup …`, for superadmins: backups that the manager makes in a directory of its computer. */
export function addServerBackupCommands(program: Command): void {
  const backup = adminOf(program)
    .command('backup')
    .description(
      'Backups of the database that the manager makes in a directory of its computer, without the master key. `berth backup FILE` makes one elsewhere.',
    )
  backup
    .command('ls')
    .description('List the backups of the manager that answers, newest first, and how the last one went.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const found = await api.listBackups()
      const output = createOutput(json)
      output.data(found, () => backupTable(found))
      for (const line of notes(found)) output.note(line)
    })
  backup
    .command('now')
    .description('Make a backup, and wait for it. Interrupting cancels it.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api } = await connect()
      using interrupt = listenForInterrupt()
      const task = await followTask(api, await api.createBackup(), interrupt.signal)
      createOutput(json).data(task, () => (task.status === 'done' ? task.target : ''))
    })
  backup
    .command('rm <name>')
    .description('Delete a backup.')
    .action(async (name: string) => {
      const { api } = await connect()
      await api.deleteBackup({ params: { name } })
      createOutput(false).note(`Deleted ${name}.`)
    })

  const schedule = backup.command('schedule').description('When backups are made, and how many are kept.')
  schedule
    .command('show')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const [settings, { nextAt }] = await Promise.all([api.getSettings(), api.listBackups()])
      createOutput(json).data(scheduleOf(settings, nextAt), () => scheduleText(settings, nextAt))
    })
  schedule
    .command('set')
    .description(
      'Make a backup every day. If none is newer than the last such time, the first is made within a minute.',
    )
    .requiredOption('--at <time>', 'time of day, such as 03:00')
    .option('--time-zone <name>', 'its time zone, such as Asia/Seoul (default: that of this computer)')
    .option('--keep <count>', 'number of backups to keep; older ones are deleted once a new one is complete')
    .option('--json', 'print JSON')
    .action(async ({ at, timeZone, keep, json = false }: ScheduleFlags) => {
      const { api } = await connect()
      const backupTimeZone = timeZone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone
      const settings = await api.updateSettings({
        body: { backupAt: at, backupTimeZone, ...(keep === undefined ? {} : { backupKeep: Number(keep) }) },
      })
      const { nextAt } = await api.listBackups()
      createOutput(json).data(scheduleOf(settings, nextAt), () => scheduleText(settings, nextAt))
    })
  schedule
    .command('off')
    .description('Make no backups by schedule. Those that are there stay.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const settings = await api.updateSettings({ body: { backupAt: null } })
      createOutput(json).data(scheduleOf(settings, null), () => scheduleText(settings, null))
    })
}

function backupTable({ items }: Backups): string {
  return table(
    ['NAME', 'AGE', 'SIZE'],
    items.map(({ name, madeAt, bytes: size }) => [name, age(madeAt), bytes(size)]),
  )
}

function notes({ directory, manager, freeBytes, problem, last }: Backups): string[] {
  const free = freeBytes === null ? '' : `, ${bytes(freeBytes)} free`
  return [
    `${directory} of ${manager}${free}`,
    ...(problem ? [messageOf(problem)] : []),
    ...(last
      ? [`last: ${last.outcome}, ${age(last.startedAt)} ago${last.error ? `: ${messageOf(last.error)}` : ''}`]
      : []),
  ]
}

const messageOf = (problem: NonNullable<Backups['problem']>) => fromProblem(problem).message

const scheduleOf = ({ backupAt, backupTimeZone, backupKeep }: SystemSettings, nextAt: string | null) => ({
  backupAt,
  backupTimeZone,
  backupKeep,
  nextAt,
})

/** @param now time of the reader's computer: a backup that is due by it is shown as overdue */
export function scheduleText(
  { backupAt, backupTimeZone, backupKeep }: Pick<SystemSettings, 'backupAt' | 'backupTimeZone' | 'backupKeep'>,
  nextAt: string | null,
  now = new Date(),
): string {
  if (backupAt === null) return 'No backup is made by itself.'
  const kept = backupKeep === 1 ? 'the newest is kept' : `the newest ${backupKeep} are kept`
  return `Every day at ${backupAt} (${backupTimeZone}); ${kept}; ${nextText(nextAt, backupTimeZone, now)}.`
}

/** Text of the time of the next backup, in the time zone of the schedule, like the time of day that stands before it. */
function nextText(nextAt: string | null, timeZone: string, now: Date): string {
  if (nextAt === null) return 'next: -'
  const at = minuteIn(timeZone, nextAt)
  return new Date(nextAt) > now ? `next: ${at}` : `overdue since ${at}, begins within a minute`
}
