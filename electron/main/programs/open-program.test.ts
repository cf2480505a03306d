import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type SshKit } from '#proxy/contract'
import { createPrograms } from './open-program.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'berth-test-programs-'))
})
afterEach(() => rm(dir, { recursive: true }))

/** A program on PATH that writes down its arguments, one a line. */
async function aProgram(name: string, mode = 0o755): Promise<void> {
  const file = path.join(dir, name)
  await writeFile(
    file,
    `#!/bin/sh\nfor one in "$@"; do echo "$one"; done > '${file}.part'\nmv '${file}.part' '${file}.said'\n`,
  )
  await chmod(file, mode)
}
const said = (name: string) => readFile(path.join(dir, `${name}.said`), 'utf8').catch(() => '')

const KIT = {
  hostAlias: 'berth-train',
  configInstalled: true,
  identityFile: '/home/mira r/.ssh/berth/id_container-berth-train',
  hostKeyFingerprint: 'SHA256:abc',
  user: 'work',
  tunnel: { port: 30_022 },
} as SshKit

const programs = () => createPrograms({ platform: 'linux', env: { PATH: `relative:${dir}` } })

test.runIf(process.platform === 'linux')(
  'programs that are there are found and started, with their arguments whole',
  async () => {
    await aProgram('xterm')
    await aProgram('putty')
    await aProgram('code', 0o644)
    expect(await programs().list()).toEqual(['terminal', 'putty'])
    await programs().open('terminal', KIT)
    await expect.poll(() => said('xterm')).toBe('-e\nssh\n-F\n/home/mira r/.ssh/berth/config\nberth-train\n')
    await programs().open('putty', KIT)
    await expect.poll(() => said('putty')).toContain('-i\n/home/mira r/.ssh/berth/id_container-berth-train.ppk\n')
  },
)

test.runIf(process.platform === 'linux')(
  'what cannot be opened is told: a program that is missing, an editor without the configuration',
  async () => {
    await aProgram('code')
    await expect(programs().open('putty', KIT)).rejects.toMatchObject({ code: 'unavailable' })
    await expect(programs().open('vscode', { ...KIT, configInstalled: false })).rejects.toMatchObject({
      code: 'unavailable',
    })
    await writeFile(path.join(dir, 'cursor'), '#!/nowhere/at/all\n')
    await chmod(path.join(dir, 'cursor'), 0o755)
    await expect(programs().open('cursor', KIT)).rejects.toMatchObject({ code: 'unavailable' })
  },
)
