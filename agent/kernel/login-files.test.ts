import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { environmentFile, PROFILE } from './login-files.ts'

const run = promisify(execFile)
const VARIABLES = {
  A: '',
  KEY: '-----BEGIN-----\nl1\\n\n-----END-----\n',
  WINDOWS: 'l1\r\nl2\r',
  BACKSLASH: String.raw`\t \0101 \\ \c`,
  QUOTES: `it's "$HOME" \`x\``,
  UNICODE: 'grüß\n말',
}

let directory: string
beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'berth-test-login-'))))
afterEach(() => rm(directory, { recursive: true, force: true }))

/** Output of a shell that begins with this text, with the directory in place of the control directory. */
async function inShell(text: string, variables: Readonly<Record<string, string>>, env: Record<string, string> = {}) {
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}`)
  await writeFile(join(directory, 'environment'), environmentFile(lines))
  const { stdout } = await run('sh', ['-c', text.replaceAll('/run/berth', directory)], { env })
  return stdout
}

test('a login shell has the PATH of the session again, before what its profile has set', async () => {
  const path = "/opt/co'nda/bin:/bin:/home/work/.local/bin:/opt/berth/bin"
  const print = `${PROFILE}\nprintf %s "$PATH"`
  expect(await inShell(print, { PATH: path }, { PATH: '/usr/bin:/bin' })).toBe(`${path}:/usr/bin:/bin`)
  expect(await inShell(print, { PATH: path }, { PATH: `/venv/bin:${path}` })).toBe(`/venv/bin:${path}`)
  expect(await inShell(print, {}, { PATH: '/usr/bin:/bin' })).toBe('/usr/bin:/bin')
})

test('shells of the toolbox have each variable as it was set, line breaks and nothing included', async () => {
  const { stdout: scripts } = await run('cat', ['build/toolbox/libexec/environment.sh'])
  const names = Object.keys(VARIABLES)
  const print = names.map(name => `printf '%s\\0' "\${${name}-unset}"`).join('\n')
  const found = await inShell(`${scripts}\nberth_load_environment\n${print}`, VARIABLES)
  expect(Object.fromEntries(found.split('\0').map((value, index) => [names[index], value]))).toMatchObject(VARIABLES)
})
