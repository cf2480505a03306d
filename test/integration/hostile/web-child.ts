import { startWeb } from '../../../proxy/web/server.ts'

/** The console's web server in a process of its own, with deadlines that a test can wait for. */
const { DATA_DIR = '', MANAGER_URL = '', HEAD_MS = '', STALLED_MS = '' } = process.env
const say = (level: string) => (fields: object, message: string) => {
  if (level !== 'debug') process.stderr.write(`${level} ${message} ${JSON.stringify(fields)}\n`)
}
const web = await startWeb(
  {
    dataDir: DATA_DIR,
    port: 0,
    managerUrl: MANAGER_URL,
    allowedHosts: [],
    consoleDir: `${DATA_DIR}/renderer`,
    sshDirectory: `${DATA_DIR}/ssh`,
    version: '1',
  },
  { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') },
  { headersTimeout: Number(HEAD_MS), connectionsCheckingInterval: 250, timeout: Number(STALLED_MS) },
)
process.stdout.write(`${JSON.stringify({ url: web.url })}\n`)
