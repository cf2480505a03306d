import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { whyOf } from '#manager/contract'
import { controlSocketPath, openControlSocket } from './control-socket.ts'
import { refuseTakenPort } from './taken-port.ts'

const LISTEN = `require('net').createServer().listen(0, '127.0.0.1', function () { console.log(this.address().port) })`
const command = 'npm start -- --port 0'
let directory: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-port-'))
})
afterEach(() => rm(directory, { recursive: true }))

/** Another program that listens at a port of its own. */
async function otherProgram() {
  const child = spawn(process.execPath, ['-e', LISTEN], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return { pid: child.pid ?? 0, port: Number(line), [Symbol.dispose]: () => void child.kill() }
}

describe.runIf(process.platform === 'linux')('a taken port of the console', () => {
  test('is refused with the program that has it, and the way out', async () => {
    using other = await otherProgram()
    const refused = refuseTakenPort({ directory, config: undefined, port: other.port, command })
    const [error] = await Promise.allSettled([refused])
    expect(error).toMatchObject({ reason: { code: 'port_in_use', detail: { port: other.port } } })
    const why = whyOf((error as PromiseRejectedResult).reason)
    expect(why).toMatch(
      new RegExp(`^Port ${String(other.port)} is taken by node .*\\(process ${String(other.pid)}\\)\\. `),
    )
    expect(why).toContain(`End that program, or use "${command}", which takes any free port.`)
  })

  test('is found also where the settings of the data directory name it', async () => {
    using other = await otherProgram()
    await writeFile(join(directory, 'berth.toml'), `[console]\nport = ${String(other.port)}\n`)
    const refused = refuseTakenPort({ directory, config: undefined, port: undefined, command })
    await expect(refused).rejects.toMatchObject({ code: 'port_in_use', detail: { port: other.port } })
  })

  test('is no fault where the Berth of this data directory runs', async () => {
    using other = await otherProgram()
    await using _lock = await openControlSocket(controlSocketPath(directory), () => Promise.reject(new Error()))
    await refuseTakenPort({ directory, config: undefined, port: other.port, command })
  })
})
