import { parseArgs } from 'node:util'
import { benchAdmin } from './admin.ts'
import { benchAgents } from './agents.ts'
import { benchConsole } from './console.ts'
import { benchBatch } from './batch.ts'
import { benchCrowd } from './crowd.ts'
import { benchDesktop } from './desktop.ts'
import { benchFiles } from './files.ts'
import { benchFolders } from './folders.ts'
import { benchFolderSftp } from './folder-sftp.ts'
import { benchHttp } from './http.ts'
import { benchIdle } from './idle.ts'
import { benchLaunch } from './launch.ts'
import { benchList } from './list.ts'
import { benchListeners } from './listeners.ts'
import { benchMemory } from './memory.ts'
import { benchPage } from './page.ts'
import { benchSftp } from './sftp.ts'
import { benchScale } from './scale.ts'
import { benchScheduler } from './scheduler.ts'
import { benchSsh } from './ssh.ts'
import { benchTunnel } from './tunnel.ts'

/**
 * `npm run bench -- [--json] [part …]`: figures of the whole path on this machine, next to their yardstick in the same run. Machines differ
 * and are noisy: read the ratios (docs/performance.md).
 *
 * Each part starts what it needs, and everything is gone afterwards, after a failure and after Ctrl-C too.
 */
const PARTS = {
  tunnel: benchTunnel,
  launch: benchLaunch,
  batch: benchBatch,
  memory: benchMemory,
  listeners: benchListeners,
  idle: benchIdle,
  scheduler: benchScheduler,
  agents: benchAgents,
  crowd: benchCrowd,
  scale: benchScale,
  list: benchList,
  admin: benchAdmin,
  console: benchConsole,
  desktop: benchDesktop,
  page: benchPage,
  files: benchFiles,
  folders: benchFolders,
  'folder-sftp': benchFolderSftp,
  http: benchHttp,
  sftp: benchSftp,
  ssh: benchSsh,
}
type Part = keyof typeof PARTS
const isPart = (name: string): name is Part => Object.hasOwn(PARTS, name)

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false } },
})
const unknown = positionals.filter(name => !isPart(name))
if (unknown.length > 0) {
  console.error(`No such part: ${unknown.join(', ')}. There are: ${Object.keys(PARTS).join(', ')}.`)
  process.exit(2)
}
const chosen = positionals.length > 0 ? positionals.filter(isPart) : (Object.keys(PARTS) as Part[])

let stack = new AsyncDisposableStack()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    console.error('stopping …')
    void stack.disposeAsync().finally(() => process.exit(130))
  })
}

const figures: Record<string, Record<string, unknown>> = {}
for (const name of chosen) {
  console.error(`${name} …`)
  stack = new AsyncDisposableStack()
  await using _ = stack
  Object.assign(figures, await PARTS[name](stack))
}
console.log(values.json ? JSON.stringify(figures) : JSON.stringify(figures, null, 2))
process.exit(0)
