import { createInterface } from 'node:readline'
import { startProxy } from '#proxy'
import { type SessionId, toWireError } from '#manager/contract'

/**
 * The proxy library in a process of its own, as the desktop app and the command line host it. Opens an app of SESSION for
 * each line `{"open":"name"}` and answers with its URL or port; `http` apps get a one-time URL.
 */
const { MANAGER_URL = '', DATA_DIR = '', SESSION = '' } = process.env
const log = (level: string) => (fields: object, message: string) => {
  if (level === 'error' || level === 'warn') process.stderr.write(`${level} ${message} ${JSON.stringify(fields)}\n`)
}
const proxy = await startProxy({
  managerUrl: MANAGER_URL,
  credentials: () => Promise.resolve({ authorization: 'Bearer test' }),
  dataDir: DATA_DIR,
  userId: 'user',
  sshDirectory: `${DATA_DIR}/ssh`,
  log: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
})
const say = (value: object) => process.stdout.write(`${JSON.stringify(value)}\n`)
say({ ready: true })

for await (const line of createInterface({ input: process.stdin })) {
  const { open } = JSON.parse(line) as { open: string }
  const spec = { sessionId: SESSION as SessionId, app: open, onPortTaken: 'random' as const }
  try {
    const tunnel = await proxy.tunnel.open(spec)
    const url = tunnel.app.protocol === 'http' ? (await proxy.tunnel.openApp(spec)).url : null
    say({ port: tunnel.port, url })
  } catch (error) {
    say({ error: toWireError(error) })
  }
}
