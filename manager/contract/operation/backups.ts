import { z } from 'zod'
import { TextOf } from '../plain-text.ts'
import { Problem } from '../problem.ts'
import { Task } from './tasks.ts'

/** Name of a file that Berth made in the directory of backups; the time in it is UTC. Other files there are left alone. */
export const BackupName = TextOf(64, /^berth-\d{8}-\d{6}\.backup$/, 'must be the name of a listed backup')

/** Time of day as people write it, in 24 hours. */
export const TimeOfDay = TextOf(5, /^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day such as 03:00')

/** The latest backup that was started, or the latest that was completed. */
export const BackupRun = z.object({
  startedAt: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable().describe('null: it runs.'),
  outcome: z.enum(['running', 'done', 'failed', 'cancelled']),
  startedBy: z.string().nullable().describe('E-mail address of who asked for it; null: the schedule.'),
  manager: z.string().describe('Address of the manager that made it.'),
  name: BackupName,
  bytes: z.int().nullable().describe('Size of the file; null unless it is done.'),
  error: Problem.nullable().describe('Why it failed.'),
})
export type BackupRun = z.infer<typeof BackupRun>

export const Backups = z
  .object({
    directory: z.string().describe('Where the manager that answers keeps backups.'),
    manager: z.string().describe('Address of the manager that answers.'),
    freeBytes: z.int().nullable().describe('Free space there; null if it cannot be told.'),
    problem: Problem.nullable().describe('Why the directory cannot be read.'),
    items: z
      .array(
        z.object({
          name: BackupName,
          madeAt: z.iso.datetime(),
          bytes: z.int(),
        }),
      )
      .describe('Complete backups in the directory, newest first.'),
    nextAt: z.iso
      .datetime()
      .nullable()
      .describe(
        'When the next one is made by itself. A time that has passed: it is overdue, and begins within a minute. null: never.',
      ),
    running: Task.nullable(),
    last: BackupRun.nullable(),
    lastDone: BackupRun.nullable(),
  })
  .meta({ id: 'Backups' })
export type Backups = z.infer<typeof Backups>
