import { join, resolve } from 'node:path'
import { backup } from '../backup/backup.ts'
import { type Backups, createBackups } from '../backup/backups.ts'
import { type ManagerConfig } from '../config.ts'
import { type EventPublisher } from '../events/bus.ts'
import { type Log } from '../log.ts'
import { type Mailer } from '../mail/mailer.ts'
import { startRetention } from '../operation/retention.ts'
import { type Settings } from '../settings/settings.ts'
import { type Store } from '../store/open-store.ts'
import { createTasks } from '../tasks/tasks.ts'
import { startDailySums } from '../usage/daily-sums.ts'

export interface OperationPartDeps {
  readonly config: Pick<ManagerConfig, 'databaseUrl' | 'backupDirectory'>
  readonly store: Store
  /** Absolute. */
  readonly dataDir: string
  readonly settings: Settings
  readonly mailer: Mailer
  readonly events: EventPublisher
  /** URL of this manager, for mails. */
  readonly url: () => string
  readonly log: Log
}

/** Background work: deletes old rows, sums up usage by day, makes scheduled backups. */
export interface OperationPart extends AsyncDisposable {
  readonly backups: Backups
}

export function startOperationPart(deps: OperationPartDeps): OperationPart {
  const { config, store, dataDir, settings, mailer, events, url, log } = deps
  const { databaseUrl } = config
  // Creating these never fails.
  const stack = new AsyncDisposableStack()
  stack.use(startRetention({ store, settings, events, log }))
  stack.use(startDailySums({ store, log }))
  const backups = stack.use(
    createBackups({
      store,
      settings,
      tasks: createTasks({ store, events, log }),
      mailer,
      events,
      directory: resolve(config.backupDirectory ?? join(dataDir, 'backups')),
      // The master key is left out: its passphrase would have to be stored beside the backups.
      write: (file, options) =>
        backup({ dataDir, databaseUrl, log, file, masterKeyFile: '', passphrase: undefined, ...options }),
      url,
      log,
    }),
  )
  return { backups, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}
