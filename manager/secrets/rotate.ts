import { parseArgs } from 'node:util'
import { addMasterKey } from './open-secret-box.ts'

/**
 * `node manager/secrets/rotate.ts --data DIR`, while the manager is stopped: its next start seals every secret again
 * with a new key. With BERTH_MASTER_KEY_FILE, put the new key (`openssl rand -base64 32`) on the first line instead.
 */
if (import.meta.main) {
  const { data = process.env.BERTH_DATA } = parseArgs({ options: { data: { type: 'string' } } }).values
  if (data === undefined || data === '') throw new Error('name the data directory: --data DIR')
  process.stdout.write(`${JSON.stringify(await addMasterKey(data))}\n`)
}
