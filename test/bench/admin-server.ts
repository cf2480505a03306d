import { silentLog } from '../../manager/log.ts'
import { startWeb } from '../../proxy/web/server.ts'
import { CONSOLE_SECRET, startTestManager } from '../fixtures/manager.ts'

/**
 * A manager, or a web server of the console, in a process of its own, as users run them: `node admin-server.ts manager DATA_DIR PORT`
 * or `node admin-server.ts console DATA_DIR MANAGER_URL`. It sends its URL, and ends with the channel to its parent.
 */
const CONSOLE_FILES = new URL('../../dist/renderer/', import.meta.url).pathname
const [kind, dataDir = '', at = ''] = process.argv.slice(2)
const server = kind === 'manager' ? await startTestManager({ dataDir, port: Number(at) }) : await startConsole()
process.on('disconnect', () => void end())
process.send?.(server.url)

function startConsole() {
  const config = { dataDir, port: 0, managerUrl: at, allowedHosts: [], consoleDir: CONSOLE_FILES, version: '1.2.3' }
  return startWeb({ ...config, consoleSecret: CONSOLE_SECRET, localProof: 'off' }, silentLog)
}

async function end(): Promise<void> {
  await server[Symbol.asyncDispose]()
  process.exit()
}
