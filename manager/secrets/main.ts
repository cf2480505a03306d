import { resolve } from 'node:path'
import { readConfig } from '../config.ts'
import { createLogger } from '../log.ts'
import { runOffline } from '../offline-program.ts'
import { rotateMasterKey } from './rotate.ts'

/**
 * `node manager/secrets/main.ts`, a child process of the CLI: makes a new master key. BERTH_DATA and DATABASE_URL name the database,
 * BERTH_MASTER_KEY_FILE the key file (default DATA/master.key).
 */
if (import.meta.main) {
  runOffline(() => {
    const { dataDir, databaseUrl, masterKeyFile } = readConfig(process.env)
    const log = createLogger(process.env.BERTH_LOG ?? 'error')
    return rotateMasterKey({ dataDir: resolve(dataDir), databaseUrl, file: masterKeyFile, log })
  })
}
