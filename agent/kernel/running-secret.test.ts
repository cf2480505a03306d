import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { runningSecret } from './running-secret.ts'

const SECRET = 'ab'.repeat(24)
const OTHER = 'cd'.repeat(24)
const lab = {
  port: 8888,
  command: ['lab', '--port={port}', '--base={baseUrl}'],
  environ: { TOKEN: '{secret}', PLAIN: 'x' },
}

async function processWith(args: readonly string[], env: Record<string, string> = {}): Promise<number> {
  const child = spawn('sh', ['-c', 'echo ready; read -r _', ...args], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill())
  await once(child.stdout, 'data')
  return child.pid ?? 0
}

test.runIf(process.platform === 'linux')(
  'the secret of an app is found in the environment of its process',
  async () => {
    const notebook = await processWith(['notebook', '--port=8889', '--base=/'], { TOKEN: OTHER })
    const child = await processWith(['kernel'], { TOKEN: SECRET })
    const own = await processWith(['lab', '--port=8888', '--base=/'], { TOKEN: SECRET })
    expect(await runningSecret(lab, [notebook, child, own])).toBe(SECRET)
    expect(await runningSecret(lab, [notebook, child])).toBeUndefined()
  },
)

test.runIf(process.platform === 'linux')(
  'the secret of an app is found in its arguments, if it has the form of a secret',
  async () => {
    const code = { port: 81, command: ['code', '--token', 'x-{secret}'], environ: {} }
    const own = await processWith(['code', '--token', `x-${SECRET}`])
    const forged = await processWith(['code', '--token', 'x-\r\nhost: evil'])
    expect(await runningSecret(code, [forged, own])).toBe(SECRET)
    expect(await runningSecret(code, [forged])).toBeUndefined()
  },
)

test('an app without a process has no secret', async () => {
  expect(await runningSecret(lab, [])).toBeUndefined()
})
