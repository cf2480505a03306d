import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'

const HERE = import.meta.dirname

/** The program that `npm start` of the package runs: it says its process, and would run for ever. */
const PROGRAM = `process.on('SIGTERM', () => process.exit()); setInterval(() => undefined, 60_000); console.log(process.pid)`

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test.skipIf(process.platform !== 'linux').each(['SIGTERM', 'SIGKILL'] as const)(
  'what an npm script launches ends on %s to npm',
  async signal => {
    const directory = await mkdtemp(join(tmpdir(), 'berth-launch-'))
    let pid: number | undefined
    try {
      const program = join(directory, 'program.mjs')
      const launch = `import(${JSON.stringify(join(HERE, 'launch.mjs'))}).then(file => file.launch(${JSON.stringify(relative(HERE, program))}))`
      await writeFile(program, PROGRAM)
      await writeFile(join(directory, 'main.mjs'), launch)
      await writeFile(join(directory, 'package.json'), JSON.stringify({ scripts: { start: 'node main.mjs' } }))
      const npm = spawn('npm', ['start', '--silent'], { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'] })
      const [line] = (await once(npm.stdout, 'data')) as [Buffer]
      const started = Number(line)
      pid = started
      expect(isAlive(started)).toBe(true)
      npm.kill(signal)
      await expect.poll(() => isAlive(started)).toBe(false)
    } finally {
      // So that a failure leaves nothing behind.
      if (pid !== undefined && isAlive(pid)) process.kill(pid, 'SIGKILL')
      await rm(directory, { recursive: true, force: true })
    }
  },
)
